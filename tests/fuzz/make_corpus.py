#!/usr/bin/env python3
"""Writes the inputs that the fuzz targets begin with into corpus/: a few well-formed ones of each kind, and some at the
edge. Run it after changing them; what the fuzzers found and was mended stands there beside them, as found-*."""
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def payload(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        of, values = value
        return struct.pack("<IQ", of, len(values)) + b"".join(payload(of, v) for v in values)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q"}[kind], value)


def gguf(keys, tensors, version=3, data=b"", claimed=None):
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors) if claimed is None else claimed, len(keys))
    for key, kind, value in keys:
        out += text(key) + struct.pack("<I", kind) + payload(kind, value)
    for name, shape, kind, offset in tensors:
        out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
    return out + b"\0" * (-len(out) % 32) + data


LETTERS = [chr(c) for c in range(33, 127)] + ["Ġ", "Ċ", "he", "ll", "llo", "hello"]
BPE = [("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "smollm"),
       ("tokenizer.ggml.tokens", ARRAY, (STRING, ["<|im_start|>", "<|im_end|>", *LETTERS])),
       ("tokenizer.ggml.token_type", ARRAY, (I32, [3, 3] + [1] * len(LETTERS))),
       ("tokenizer.ggml.merges", ARRAY, (STRING, ["h e", "l l", "ll o", "he llo"])),
       ("tokenizer.ggml.eos_token_id", U32, 1), ("tokenizer.ggml.add_bos_token", BOOL, False)]
PIECES = ["<unk>", "<s>", "</s>", "<0x0A>", "▁", "a", "b", "▁a", "ab"]
SENTENCEPIECE = [("tokenizer.ggml.model", STRING, "llama"),
                 ("tokenizer.ggml.tokens", ARRAY, (STRING, PIECES)),
                 ("tokenizer.ggml.token_type", ARRAY, (I32, [2, 3, 3, 6, 1, 1, 1, 1, 1])),
                 ("tokenizer.ggml.scores", ARRAY, (F32, [0, 0, 0, 0, -1, -2, -3, -1.5, -0.5])),
                 ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.unknown_token_id", U32, 0)]


def one_layer():
    """A llama of one layer and 32 dimensions whose weights are all Q4_0: 18 bytes for 32."""
    keys = [("general.architecture", STRING, "llama"), ("llama.block_count", U32, 1), ("llama.embedding_length", U32, 32),
            ("llama.attention.head_count", U32, 1), ("llama.attention.head_count_kv", U32, 1),
            ("llama.feed_forward_length", U32, 32), ("llama.context_length", U32, 64),
            ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5), ("llama.rope.freq_base", F32, 10000.0), *SENTENCEPIECE]
    tensors, data = [], b""
    def add(name, shape, kind, size):
        nonlocal data
        tensors.append((name, shape, kind, len(data)))
        data += bytes(range(1, 8)) * (size // 7) + b"\1" * (size % 7)
        data += b"\0" * (-len(data) % 32)
    add("token_embd.weight", [32, len(PIECES)], 2, 18 * len(PIECES))
    add("output_norm.weight", [32], 0, 128)
    for norm in ("attn_norm", "ffn_norm"):
        add(f"blk.0.{norm}.weight", [32], 0, 128)
    for matrix in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        add(f"blk.0.{matrix}.weight", [32, 32], 2, 18 * 32)
    return gguf(keys, tensors, data=data)


GGUF = {
    "empty": gguf([], []),
    "version-2": gguf([("general.name", STRING, "old")], [], version=2),
    "bpe": gguf(BPE, []),
    "sentencepiece": gguf(SENTENCEPIECE, []),
    "one-layer": one_layer(),
    "alignment": gguf([("general.alignment", U32, 64)], [("a", [4], 0, 0)], data=b"\0" * 96),
    "shape-of-2-to-the-64": gguf([], [("a", [2**32, 2**32, 2, 1], 0, 0)], data=b"\0" * 64),
    "many-tensors-claimed": gguf([], [], claimed=2**61),
    "arrays-in-an-array": gguf([("x", ARRAY, (ARRAY, [(U32, [1]), (U64, [2])]))], []),
}

TOKENIZER = {name: bytes([i]) + words.encode() for i, (name, words) in enumerate({
    "smollm": "Hello, world! 123 <|im_start|>user\n  indented\tby tabs",
    "gpt-2": "It's we'll don't I'VE 3.14159  trailing  ",
    "llama-bpe": "naïve Zürich 東京 नमस्ते \u0301\u200d 🦙🏽",
    "qwen2": "\r\n\n x=1;y+=2;/*c*/ 000111222",
    "sentencepiece": " leading  and  ▁ marks <s> é\u00a0",
}.items())}
TOKENIZER["broken-utf8"] = b"\x00ok \xff\xfe\xc0\x80 \xe2\x82 \xf0\x9f\xa6"

TEMPLATE = {
    "chatml": "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
              "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "names": "{% set ns = namespace(n=0, s='') %}{% for m in messages if m.content is string %}{% set ns.n = ns.n + 1 %}"
             "{{ loop.index0 }}{{ loop.last }}{{ '%d' | format(ns.n) if false else ns.n }}{% endfor %}{{ ns }}",
    "macro": "{% macro tag(name, body='x') -%}<{{ name }}>{{ body }}</{{ name }}>{%- endmacro %}{{ tag('a', body=tag('b')) }}",
    "filters": "{{ messages | map(attribute='role') | unique | sort | join(', ') | upper }}{{ {'a': [1, 2.5, none]} | tojson(indent=2) }}"
               "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
    "slices": "{{ messages[1:][::-1][0].content[2:-1] }}{{ range(5) | list }}{{ 'a-b'.split('-') }}{{ (1 + 2) * 3 // 2 ** 2 % 5 }}",
    "refuses": "{% if messages[0].role != 'user' %}{{ raise_exception('the user first') }}{% endif %}",
    "endless": "{% for a in range(99999) %}{% for b in range(99999) %}{{ a ~ b }}{% endfor %}{% endfor %}",
    "grows": "{% set ns = namespace(s='xx') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
    "deep": "{{ " + "(" * 80 + "1" + ")" * 80 + " }}",
    "context": '{{ messages[0].a }}{{ x is defined }}\0{"messages": [{"a": [1, {"b": null}]}], "x": -0.0}',
}

CHAT = {"model": "m", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": [
    {"type": "text", "text": "é\n\"quoted\" \ud83e\udd99"}]}]}
JSON = {
    "chat": CHAT,
    "sampling": {**CHAT, "temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "seed": 2**63 - 1, "n": 2, "max_tokens": 16,
                 "stop": ["\n\n", "END"], "logit_bias": {"17": -100}, "presence_penalty": -2, "frequency_penalty": 2,
                 "repetition_penalty": 1.1, "logprobs": True, "top_logprobs": 3, "stop_token_ids": [1, 2], "min_tokens": 1},
    "stream": {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "user": "u", "cache_salt": "s", "priority": -3,
               "timeout": 1.5},
    "grammar": {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}},
    "structured": {**CHAT, "structured_outputs": {"regex": "a+", "whitespace_pattern": None}},
    "response": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]},
                           {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                           {"type": "function_call_output", "call_id": "c", "output": "5"},
                           {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}],
                 "instructions": "i", "max_output_tokens": 3, "include": ["message.output_text.logprobs"], "top_logprobs": 1,
                 "tools": [{"type": "function", "name": "f", "parameters": {"maximum": 12345678901234567890123}}],
                 "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
                 "text": {"format": {"type": "json_schema", "schema": {}}}, "reasoning": {"effort": "low", "summary": "auto"}},
    "odd-response": {"input": "x", "tools": [5], "tool_choice": {"type": "allowed_tools", "allowed_tools": ["f"]}},
    "completion": {"prompt": "Once", "max_tokens": 3, "logprobs": 2, "echo": False},
    "tokens": {"prompt": [1, 2, 299], "prompt_logprobs": 1, "return_token_ids": True},
    "tokenize": {"model": "m", "prompt": "x", "add_special_tokens": False}, "detokenize": {"tokens": [1, 2, 3]},
}
ODD = ["1e400", "-0.0", "[9223372036854775808, 18446744073709551616, -9223372036854775809]", '"\\ud800"', '"\\u0000"',
       "[" * 70 + "]" * 70, '{"a":1,"a":2}', "NaN", '{"temperature": 1e999}', '{"prompt":"x","n":9223372036854775808}', " null ", ""]


def frame(kind, request, body=b""):
    return struct.pack("!IBQ", len(body), kind, request) + body


HELLO = frame(1, 0, b'{"protocol": 1}')
FRAMES = {
    "hello": HELLO,
    "conversation": HELLO + frame(2, 7, json.dumps(CHAT).encode()) + frame(4, 0, b"ping") + frame(3, 7),
    "completion": frame(2, 2**64 - 1, json.dumps(JSON["tokens"]).encode()),
    "too-long": struct.pack("!IBQ", 2**32 - 1, 2, 1) + b"{}",
    "of-a-server": frame(0x82, 1, b'{"text": "x"}'),
    "wrong-version": frame(1, 0, b'{"protocol": 9223372036854775808}'),
}

REGEX = {
    "name": "[A-Z][a-z]{2,15}( [A-Z][a-z]+)*", "date": r"\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01])", "case": "(?i)straße|ǅ",
    "classes": r"[\p{L}\p{Nd}&&[^\p{Lu}x-z]--[0-5]]+\PM", "looks": "(?=.*[0-9])(?!.*aa)[a-z0-9]{8,}", "groups": "(?P<a>x)(?:y|z)?(?s:.)",
    "counted": "((a{1,100}){1,100}){1,100}", "nested": "(" * 100 + "a" + ")" * 100, "stars": "(((a*)*)*)*b",
    "empty-class": "[^\\x00-\\x{10FFFF}]", "astral": "\\u{1F999}[\\x{10000}-\\x{10FFFF}]", "half": "[a-",
}

GRAMMAR = {
    "gbnf": 'groot ::= item (", " item)* # list\nitem ::= [a-z]+ | "(" root ")" | num{1,3}\nnum ::= [0-9] | "\\x41\\u00e9"',
    "lark": 'lstart: pair ("," pair)*\npair: NAME "=" (NUMBER | start)~1..2\nNAME: /[a-z]+/i\n%import common.NUMBER\n%ignore " "',
    "recursive": 'groot ::= root root | "a" | root',
    "schema": "s" + json.dumps({"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 9},
              "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150, "multipleOf": 5}, "tags": {"type": "array",
              "items": {"enum": ["a", "b", None]}, "minItems": 1, "uniqueItems": False}}, "required": ["name"],
              "additionalProperties": False}),
    "references": "s" + json.dumps({"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
                                    "$ref": "#/$defs/node"}),
    "any-of": "s" + json.dumps({"anyOf": [{"const": 1}, {"type": "string", "pattern": "^a+$"}, {"format": "date-time", "type": "string"}],
                                "not": {"const": 2}}),
    "circle": 's{"$ref": "#"}',
    "numbers": 's{"type": "number", "minimum": -1e300, "maximum": 1e-300, "multipleOf": 1e-17}',
    "tag": "t" + json.dumps({"structures": [{"begin": "<f=", "schema": {"type": "object"}, "end": "</f>"}], "triggers": ["<f"]}),
    "tags": "t" + json.dumps({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "tags": [
            {"begin": "<a>", "content": {"type": "regex", "pattern": "[a-z]+"}, "end": "</a>"}]}}),
    "choice": "cyes\nno\nnothing\n",
}


def encoded(inputs):
    return {name: value if isinstance(value, bytes) else value.encode() for name, value in inputs.items()}


def write(target, inputs):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in encoded(inputs).items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    write("gguf_fuzz", GGUF)
    write("tokenizer_fuzz", TOKENIZER)
    write("chat_template_fuzz", TEMPLATE)
    write("json_body_fuzz", {**{name: json.dumps(body) for name, body in JSON.items()}, **{f"odd-{i}": t for i, t in enumerate(ODD)}})
    write("tcp_frame_fuzz", FRAMES)
    write("regex_fuzz", REGEX)
    write("grammar_fuzz", GRAMMAR)
