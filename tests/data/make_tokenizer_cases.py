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
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {  # as the models' own tokenizer.json files have them
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-bpe": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST,
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST,
}
PARTS = ["a", "the", " word", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "1", "12", "12345", "don't", "I'LL", "'s", "'S",
         "'re", "'x", "é", "é", "naïve", "日本語", "한국어", "Привет", "مرحبا", "नमस्ते", "½", "Ⅷ", "٣", "²", "!", "?!", "...",
         ".\n", "(x)", "-", "_", "$5", "€", "👩‍👩‍👧", "\u00a0", "\u0085", "\u2003", "\u3000", "\u180e", "\u200b", "\u2028",
         "\x00", "\x1c", "\x0b", "ſ", "'ſ", "K", "ǅ", "𝔘", "𐍈", "a1b2", "foo_bar", "x=1;", "\ufeff", "\u0301"]


def texts(count, seed):
    source = random.Random(seed)
    made = PARTS + ["".join(source.choice(PARTS) for _ in range(source.randint(2, 12))) for _ in range(count)]
    return sorted(set(made))


def split_cases():
    out = {}
    for name, pattern in PATTERNS.items():
        splitter = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
        out[name] = [[text, [piece for piece, _ in splitter.pre_tokenize_str(text)]] for text in texts(150, 1)]
    return out


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
    (HERE / "pre_tokenizers.json").write_text(json.dumps(split_cases(), indent=0) + "\n")
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
