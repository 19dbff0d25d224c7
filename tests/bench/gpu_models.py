#!/usr/bin/env python3
"""Writes model files of known shapes with made-up weights, the same each time: what a GPU's speed depends on
without what nobody can carry along.

    tests/bench/gpu_models.py SHAPE FILE

SHAPE is one of those below: its weights are bf16. With "-q4" behind it they are quantised, in blocks of 32: Q4_1, and Q8_0
for embedding and head, as in the default model. The vocabulary is an end, the 256 bytes and tokens without a meaning: what such a model says is
nonsense, but it takes a text and answers.
"""
import array
import dataclasses
import math
import os
import pathlib
import random
import struct
import sys
import zlib

ALIGNMENT = 32
BF16, F32, Q4_1, Q8_0 = 30, 0, 3, 8
BLOCK = 32  # values that share a scale, and with Q4_1 a minimum: after 2 or 4 bytes of these 16 or 32 bytes of codes
BLOCK_BYTES = {Q4_1: 20, Q8_0: 34}
BLOCK_PATTERN = 131_071  # blocks; prime as well, and more than a vocabulary has rows: equal ones would tie
QUANTISED = "-q4"
PATTERN = 1_048_573  # prime, so that no two rows of a matrix begin at the same place of it


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    context: int = 8192
    tied: bool = True  # the embedding is the head as well


SHAPES = {
    "tiny": Shape(layers=2, hidden=64, heads=4, kv_heads=2, head_dim=16, intermediate=96, vocab=320, context=1024),
    "smollm-135m": Shape(layers=30, hidden=576, heads=9, kv_heads=3, head_dim=64, intermediate=1536, vocab=49_152),
    "llama-1b": Shape(layers=16, hidden=2048, heads=32, kv_heads=8, head_dim=64, intermediate=8192, vocab=128_256),
    "llama-8b": Shape(layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, intermediate=14_336, vocab=128_256,
                      tied=False),
}


def tensors(shape):
    """(name, columns, rows or 0 for a vector, deviation of its values, name of the tensor whose values it has)

    Deviations are such that a token's logit for itself is about 12 and all layers together change the residual stream
    about as much as the embedding filled it: the best token is clear, and a wrong layer shows.
    """
    query, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    embedding = 12 / (0.7 * shape.hidden)
    into = 1 / math.sqrt(shape.hidden)
    back = embedding / math.sqrt(2 * shape.layers)
    yield "token_embd.weight", shape.hidden, shape.vocab, embedding, "embedding"
    for i in range(shape.layers):
        yield f"blk.{i}.attn_norm.weight", shape.hidden, 0, None, ""
        yield f"blk.{i}.attn_q.weight", shape.hidden, query, into, ""
        yield f"blk.{i}.attn_k.weight", shape.hidden, kv, into, ""
        yield f"blk.{i}.attn_v.weight", shape.hidden, kv, into, ""
        yield f"blk.{i}.attn_output.weight", query, shape.hidden, 3 * back / math.sqrt(query), ""
        yield f"blk.{i}.ffn_norm.weight", shape.hidden, 0, None, ""
        yield f"blk.{i}.ffn_gate.weight", shape.hidden, shape.intermediate, into, ""
        yield f"blk.{i}.ffn_up.weight", shape.hidden, shape.intermediate, into, ""
        yield f"blk.{i}.ffn_down.weight", shape.intermediate, shape.hidden, back / (0.6 * math.sqrt(shape.intermediate)), ""
    yield "output_norm.weight", shape.hidden, 0, None, ""
    if not shape.tied:
        yield "output.weight", shape.hidden, shape.vocab, embedding, "embedding"


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def tokens(count):
    """The end of a text, GPT-2's letters for bytes (printable ones stand for themselves, the others are U+0100 and on), and
    names for the rest. All vocabularies here are larger than that."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = iter(range(0x100, 0x200))
    letters = [chr(byte if byte in printable else next(other)) for byte in range(256)]
    return ["<|endoftext|>", *letters, *(f"<{number}>" for number in range(257, count))]


def strings(values):
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(text(each) for each in values)


def metadata(name, shape):
    numbers = {"context_length": shape.context, "embedding_length": shape.hidden, "block_count": shape.layers,
               "feed_forward_length": shape.intermediate, "attention.head_count": shape.heads,
               "attention.head_count_kv": shape.kv_heads, "attention.key_length": shape.head_dim,
               "attention.value_length": shape.head_dim, "rope.dimension_count": shape.head_dim}
    yield text("general.architecture") + struct.pack("<I", 8) + text("llama")
    yield text("general.name") + struct.pack("<I", 8) + text(f"made-up {name}")
    for key, value in numbers.items():
        yield text(f"llama.{key}") + struct.pack("<II", 4, value)
    for key, value in {"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10_000.0}.items():
        yield text(f"llama.{key}") + struct.pack("<If", 6, value)
    yield text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("gpt2")
    yield text("tokenizer.ggml.pre") + struct.pack("<I", 8) + text("gpt-2")
    yield text("tokenizer.ggml.tokens") + strings(tokens(shape.vocab))
    yield text("tokenizer.ggml.merges") + strings([])
    yield text("tokenizer.ggml.eos_token_id") + struct.pack("<II", 4, 0)


def type_of(columns, deviation, alias, quantised):
    if deviation is None:
        return F32
    if not quantised or columns % BLOCK != 0:
        return BF16
    return Q8_0 if alias == "embedding" else Q4_1


def size_of(columns, rows, kind):
    if kind == F32:
        return columns * 4
    return columns * rows * 2 if kind == BF16 else columns * rows // BLOCK * BLOCK_BYTES[kind]


def padded(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def pattern(normal, deviation):
    """bf16 numbers, twice over, so that any stretch as long as the pattern lies in one piece."""
    scaled = array.array("f", (value * deviation for value in normal)).tobytes()
    once = bytearray(len(scaled) // 2)
    once[0::2], once[1::2] = scaled[2::4], scaled[3::4]
    return bytes(once) * 2


def blocks(normal, deviation, kind):
    """The same of quantised blocks: codes between a block's extremes, or up to its largest magnitude."""
    out = bytearray()
    endless = normal + normal[:BLOCK]
    for number in range(BLOCK_PATTERN):
        begin = BLOCK * number % len(normal)
        values = endless[begin:begin + BLOCK]
        low, high = min(values), max(values)
        if kind == Q4_1:
            step = (high - low) / 15
            codes = [round((each - low) / step) for each in values]
            out += struct.pack("<ee", step * deviation, low * deviation)
            out += bytes(codes[j] | codes[j + BLOCK // 2] << 4 for j in range(BLOCK // 2))
        else:
            step = max(-low, high) / 127
            out += struct.pack("<e", step * deviation) + struct.pack("32b", *(round(each / step) for each in values))
    return bytes(out) * 2


def write_values(file, values, first, size, element):
    """`size` bytes of the repeated pattern from its element `first` on, of so many bytes each."""
    period = len(values) // 2
    begin = element * first % period
    turn = memoryview(values)[begin:begin + period]
    for _ in range(size // period):
        file.write(turn)
    file.write(turn[:size % period])


def write(name, path):
    shape, quantised = SHAPES[name.removesuffix(QUANTISED)], name.endswith(QUANTISED)
    keys, entries, place = list(metadata(name, shape)), [], 0
    for tensor, columns, rows, deviation, alias in tensors(shape):
        kind = type_of(columns, deviation, alias, quantised)
        dimensions = (columns,) if rows == 0 else (columns, rows)
        entries.append(text(tensor) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions,
                                                  kind, place))
        place += padded(size_of(columns, rows, kind))
    header = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(keys)) + b"".join(keys) + b"".join(entries)
    dice = random.Random(1)
    normal = [dice.gauss(0, 1) for _ in range(PATTERN)]
    patterns = {}
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "wb") as file:
        file.write(header.ljust(padded(len(header)), b"\0"))
        for tensor, columns, rows, deviation, alias in tensors(shape):
            kind = type_of(columns, deviation, alias, quantised)
            size = size_of(columns, rows, kind)
            if kind == F32:
                file.write(array.array("f", [1.0] * columns).tobytes())
            else:
                if (deviation, kind) not in patterns:
                    patterns[deviation, kind] = pattern(normal, deviation) if kind == BF16 else blocks(normal, deviation, kind)
                write_values(file, patterns[deviation, kind], zlib.crc32((alias or tensor).encode()), size,
                             BLOCK_BYTES.get(kind, 2))
            file.write(bytes(padded(size) - size))
    os.replace(unfinished, path)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].removesuffix(QUANTISED) not in SHAPES:
        sys.exit(__doc__ + "\nShapes: " + ", ".join(SHAPES))
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
