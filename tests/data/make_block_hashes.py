#!/usr/bin/env python3
"""Writes block_hashes.json: hash chains of KV blocks as Python's hashlib computes them, for block_hash_test.cpp."""
import hashlib
import json
import pathlib
import random
import struct


def root(scope):
    return hashlib.sha256(b"".join(struct.pack("<Q", len(text)) + text for text in (t.encode() for t in scope))).digest()


def chain(scope, tokens, block_size):
    parent, hashes = root(scope), []
    for begin in range(0, len(tokens) - block_size + 1, block_size):
        block = tokens[begin:begin + block_size]
        parent = hashlib.sha256(parent + struct.pack(f"<{block_size}i", *block)).digest()
        hashes.append(parent.hex())
    return hashes


def main():
    draw = random.Random(4)
    cases = []
    for scope in [("", "", ""), ("tenant a", "", ""), ("", "tenant a", ""), ("tenant", " a", ""), ("é☃", "lora-7", "0f" * 32)]:
        for block_size in (1, 4, 16):
            tokens = [draw.randrange(1 << 17) for _ in range(3 * block_size + block_size // 2)]
            cases.append({"cache_salt": scope[0], "adapter": scope[1], "extra": scope[2], "block_size": block_size,
                          "tokens": tokens, "root": root(scope).hex(), "blocks": chain(scope, tokens, block_size)})
    path = pathlib.Path(__file__).with_name("block_hashes.json")
    path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
