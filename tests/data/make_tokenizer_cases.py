#!/usr/bin/env python3
"""Writes pre_tokenizers.json and sentencepiece.json: what Hugging Face's tokenizers and SentencePiece make of hard texts.

Needs tokenizers and sentencepiece. Run it after changing the cases below:  python3 make_tokenizer_cases.py
"""
import io
import json
import pathlib
import random

import sentencepiece
from tokenizers import Regex, pre_tokenizers

HERE = pathlib.Path(__file__).parent
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BLANKS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*" + BLANKS
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SLASHED = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + BLANKS
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
# The cased letters of DeepSeek-LLM's tokenizer.json, by their code points.
CASED = """
41-5a 61-7a b5 c0-d6 d8-f6 f8-1ba 1bc-1bf 1c4-293 295-2af 370-373 376 377 37b-37d 37f 386 388-38a 38c 38e-3a1 3a3-3f5
3f7-481 48a-52f 531-556 10a0-10c5 13a0-13f5 13f8-13fd 1c90-1cba 1cbd-1cbf 1d00-1d2b 1d6b-1d77 1d79-1d9a 1e00-1f15 1f18-1f1d
1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fbc 1fbe 1fc2-1fc4 1fc6-1fcc 1fd0-1fd3 1fd6-1fdb
1fe0-1fec 1ff2-1ff4 1ff6-1ffc 2102 2107 210a-2113 2115 2119-211d 2124 2126 2128 212a-212d 212f-2134 2139 213c-213f 2145-2149
214e 2183 2184 2c00-2c7b 2c7e-2ce4 2ceb-2cee 2cf2 2cf3 a640-a66d a680-a69b a722-a76f a771-a787 a78b-a78e ab70-abbf fb00-fb06
fb13-fb17 ff21-ff3a ff41-ff5a 10400-1044f 104b0-104d3 104d8-104fb 10c80-10cb2 10cc0-10cf2 118a0-118df 1e900-1e943
"""


def character_class(ranges):
    return "[" + "".join("-".join(chr(int(end, 16)) for end in part.split("-")) for part in ranges.split()) + "]"


def words(ending):
    return rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ending}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ending}"


PATTERNS = {  # as the models' own tokenizer.json files have them, one after the other ("default": as llama.cpp)
    "gpt-2": [GPT_2],
    "llama-bpe": [CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST],
    "qwen2": [CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST],
    "starcoder": [r"\p{N}", GPT_2],
    "seed-coder": [CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + BLANKS],
    "tekken": [words("") + r"|\p{N}" + SLASHED],
    "gpt-4o": [words(CONTRACTIONS + "?") + r"|\p{N}{1,3}" + SLASHED],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
    "deepseek-llm": [r"[\r\n]", r"\s?" + character_class(CASED) + "+",
                     "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$", CJK, r"\p{N}"],
    "viking": [" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+", r"\p{N}"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT_2, r"\p{N}+", "[0-9][0-9][0-9]"],
}
PARTS = ["a", "the", " word", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "1", "12", "12345", "don't", "I'LL", "'s", "'S",
         "'re", "'x", "é", "é", "naïve", "日本語", "한국어", "Привет", "مرحبا", "नमस्ते", "½", "Ⅷ", "٣", "²", "!", "?!", "...",
         ".\n", "(x)", "-", "_", "$5", "€", "👩‍👩‍👧", "\u00a0", "\u0085", "\u2003", "\u3000", "\u180e", "\u200b", "\u2028",
         "\x00", "\x1c", "\x0b", "ſ", "'ſ", "K", "ǅ", "𝔘", "𐍈", "a1b2", "foo_bar", "x=1;", "\ufeff", "\u0301"]

# For the ways to split only: words within words, letters without case, and marks that some of the ways tell apart.
CUT_PARTS = PARTS + ["HTTPServer", "iPhone", "It'S", "ABC", "ΑΒγ", "ǅungla", "ʰx", "สวัสดี", "ა", "Աբ", "«quoted»", "a/b", "//\n",
                     "，。", "।", "`", "+", "100%"]


def texts(count, seed, parts=PARTS):
    source = random.Random(seed)
    made = parts + ["".join(source.choice(parts) for _ in range(source.randint(2, 12))) for _ in range(count)]
    return sorted(set(made))


def split_cases():
    out = {}
    for name, patterns in PATTERNS.items():
        splitter = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(one), behavior="isolated") for one in patterns])
        cases = [[text, [piece for piece, _ in splitter.pre_tokenize_str(text)]] for text in texts(150, 1, CUT_PARTS)]
        out[name] = {"patterns": patterns, "cases": cases}
    return out


def line_by_line(kinds):
    """As JSON, with a line for each case."""
    written = []
    for name, kind in kinds.items():
        cases = ",\n".join(json.dumps(case) for case in kind["cases"])
        written.append(f'{json.dumps(name)}: {{"patterns": {json.dumps(kind["patterns"])}, "cases": [\n{cases}]}}')
    return "{" + ",\n".join(written) + "}\n"


CORPUS = """The company of actors serves one model after another, and another, and the others wait for the next one.
Every request ends in exactly one event. The tokens of a request never depend on its company, in any batch.
Größe, naïve café, über den Wolken; ¿qué tal? 12345 67890 1.5 (parentheses) [brackets] {braces}
the then there these those this that thing think thought through
日本語のテキスト Привет мир
"""


def model_case(name, cases, **options):
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.splitlines()), model_writer=stream, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2, num_threads=1, **options)
    model = sentencepiece.SentencePieceProcessor(model_proto=stream.getvalue())
    kinds = [(model.is_unknown, 2), (model.is_control, 3), (model.is_unused, 5), (model.is_byte, 6)]
    users = options.get("user_defined_symbols", [])
    pieces = []
    for i in range(model.vocab_size()):
        text = model.id_to_piece(i)
        kind = 4 if text in users else next((number for test, number in kinds if test(i)), 1)
        pieces.append([text, model.get_score(i), kind])
    encoded = [[text, ids := model.encode(text), model.decode(ids)] for text in cases if "\x00" not in text]
    return {"name": name, "add_space_prefix": options.get("add_dummy_prefix", True), "pieces": pieces, "cases": encoded}


def main():
    (HERE / "pre_tokenizers.json").write_text(line_by_line(split_cases()))
    words = CORPUS.split()
    source = random.Random(2)
    cases = texts(60, 3) + ["".join(source.choice([" ", "  ", "", "\n"]) + source.choice(words) for _ in range(8)) for _ in range(60)]
    cases += ["", " ", "   ", " leading", "trailing ", "<s>", "<sep>", "a<sep>b", " <sep> <sep>x", "▁", "tttttthe", "the" * 50]
    models = [model_case("plain", cases, vocab_size=420),
              model_case("no space prefix", cases, vocab_size=420, add_dummy_prefix=False),
              model_case("user-defined symbols", cases, vocab_size=420, user_defined_symbols=["<sep>", "▁▁", "ing"])]
    (HERE / "sentencepiece.json").write_text(json.dumps(models, indent=0) + "\n")
    print("written")


if __name__ == "__main__":
    main()
