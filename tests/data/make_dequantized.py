#!/usr/bin/env python3
"""Makes dequantized.json: blocks of random bytes of every served tensor type and what the `gguf` package makes of them.

Needs the packages gguf and numpy. Per type: `source` is the blocks in hexadecimal; `values` the bits of each float32 in
hexadecimal, NaN written as 7fc00000. The scales are random too; those of the first blocks are odd on purpose:
infinite, the smallest subnormal, negative zero, the largest finite number.
"""
import json
import pathlib

import gguf
import numpy as np

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
BLOCKS = {1: 512, 32: 16, 256: 6}  # by elements per block
ODD_SCALES = [0x7C00, 0x0001, 0x8000, 0x7BFF]


def random_blocks(random, name, size, count):
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    place = size - 2 if name == "Q6_K" else 0
    for block, scale in zip(blocks, ODD_SCALES):
        block[place:place + 2] = (scale & 0xFF, scale >> 8)
    return blocks


def main():
    random = np.random.default_rng(20240229)
    cases = []
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        source = random_blocks(random, name, size, BLOCKS[elements]).reshape(-1)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(source.reshape(1, -1), kind).astype(np.float32).reshape(-1)
        bits = values.view(np.uint32).copy()
        bits[np.isnan(values)] = 0x7FC00000
        cases.append({"type": name, "source": source.tobytes().hex(), "values": "".join(f"{b:08x}" for b in bits)})
    out = pathlib.Path(__file__).with_name("dequantized.json")
    out.write_text(json.dumps(cases, indent=0) + "\n")


if __name__ == "__main__":
    main()
