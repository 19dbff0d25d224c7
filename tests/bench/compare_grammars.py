#!/usr/bin/env python3
"""troupe's grammars beside llguidance's and XGrammar's: files of MaskBench's form, one thread, one run.

For each schema: the time to compile it, then for each token of each instance's text (as json.dumps writes it with
ensure_ascii=False) the time to fill the mask, and whether the verdict on the instance is the file's.

The first run makes a virtual environment in --venv and installs the packages (XGrammar needs PyTorch: some 6 GB).
"""
import argparse, json, os, pathlib, subprocess, sys, time

PACKAGES = ["llguidance==1.7.0", "xgrammar==0.2.8", "transformers", "tokenizers", "numpy", "gguf"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="files of MaskBench's form")
    parser.add_argument("--model", default="models/SmolLM2-135M-Instruct.Q4_1.gguf", help="whose vocabulary is used")
    parser.add_argument("--troupe", default="build/troupe")
    parser.add_argument("--venv", default=".bench-venv", help="where the packages go (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=0, help="only the first so many files, by name")
    parser.add_argument("--engines", nargs="+", default=["troupe", "llguidance", "xgrammar"],
                        choices=["troupe", "llguidance", "xgrammar"])
    return parser.parse_args()


def enter_environment(folder):
    """Runs this script again with the packages, unless that is so already."""
    python = pathlib.Path(folder).absolute() / "bin" / "python"
    if pathlib.Path(sys.prefix) == python.parent.parent:
        return
    if not python.exists():
        print(f"installing {', '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    missing = subprocess.run([python, "-c", "import gguf, llguidance, xgrammar, transformers"], capture_output=True)
    if missing.returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    os.execv(python, [str(python), *sys.argv])


def load_tokenizer(model):
    """The model's byte-level BPE as a Hugging Face tokenizer: vocabulary, merges, digits one by one."""
    import gguf
    import tokenizers
    import transformers
    fields = gguf.GGUFReader(model).fields

    def strings(key):
        return [bytes(fields[key].parts[i]).decode() for i in fields[key].data]

    words = strings("tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ")) for pair in strings("tokenizer.ggml.merges")]
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE({word: i for i, word in enumerate(words)}, merges))
    split = tokenizers.pre_tokenizers
    bpe.pre_tokenizer = split.Sequence([split.Digits(individual_digits=True),
                                        split.ByteLevel(add_prefix_space=False)])
    bpe.decoder = tokenizers.decoders.ByteLevel()
    kinds = [int(fields["tokenizer.ggml.token_type"].parts[i][0]) for i in fields["tokenizer.ggml.token_type"].data]
    end = int(fields["tokenizer.ggml.eos_token_id"].parts[-1][0])
    bpe.add_special_tokens([word for word, kind in zip(words, kinds) if kind == 3])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=words[end]), len(words), end


class Llguidance:
    def __init__(self, tokenizer, size):
        import llguidance.hf
        import numpy
        self.engine = llguidance
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size)
        self.mask = numpy.zeros((size + 31) // 32, dtype=numpy.int32)
        self.address, self.bytes = self.mask.ctypes.data, self.mask.nbytes

    def compile(self, schema):
        grammar = self.engine.LLMatcher.grammar_from_json_schema(schema, overrides={"whitespace_flexible": True, "coerce_one_of": True, "lenient": True})
        matcher = self.engine.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.get_error():
            raise ValueError(matcher.get_error())
        return matcher

    def matcher(self, grammar):
        return grammar.deep_copy()

    def fill(self, matcher):
        matcher.unsafe_compute_mask_ptr(self.address, self.bytes)

    def accept(self, matcher, token):
        return matcher.consume_token(token)

    def can_end(self, matcher):
        return matcher.is_accepting()


class XGrammar:
    def __init__(self, tokenizer, size):
        import xgrammar
        self.engine = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.bits = xgrammar.allocate_token_bitmask(1, size)
        self.mask = self.bits.numpy()[0]
        self.end = tokenizer.eos_token_id

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, any_whitespace=True, strict_mode=False)

    def matcher(self, grammar):
        return self.engine.GrammarMatcher(grammar)

    def fill(self, matcher):
        matcher.fill_next_token_bitmask(self.bits)

    def accept(self, matcher, token):
        return matcher.accept_token(token)

    def can_end(self, matcher):
        return matcher.accept_token(self.end)


def has(mask, token):
    return bool((int(mask[token // 32]) >> (token % 32)) & 1)


def accepts(engine, grammar, tokens, mask_us):
    matcher = engine.matcher(grammar)
    for token in tokens:
        start = time.perf_counter()
        engine.fill(matcher)
        mask_us.append((time.perf_counter() - start) * 1e6)
        if not has(engine.mask, token) or not engine.accept(matcher, token):
            return False
    return bool(engine.can_end(matcher))


def percentiles(values, shares=(0.5, 0.9, 0.99, 1)):
    ordered = sorted(values) or [0]
    return [round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3) for share in shares]


def measure(name, engine, files, tokenizer):
    out = {"schemas": len(files), "compiled": 0, "all_tests_right": 0, "valid": 0, "valid_rejected": 0,
           "invalid": 0, "invalid_accepted": 0}
    compile_ms, mask_us = [], []
    for number, path in enumerate(files):
        print(f"\r{name}: {number + 1} of {len(files)}", end="", file=sys.stderr)
        case = json.loads(path.read_text())
        start = time.perf_counter()
        try:
            grammar = engine.compile(json.dumps(case["schema"]))
        except Exception:  # whatever the engine says of a schema that it does not take
            continue
        compile_ms.append((time.perf_counter() - start) * 1e3)
        out["compiled"] += 1
        right = True
        for test in case["tests"]:
            tokens = tokenizer.encode(json.dumps(test["data"], ensure_ascii=False), add_special_tokens=False)
            accepted = accepts(engine, grammar, tokens, mask_us)
            out["valid" if test["valid"] else "invalid"] += 1
            if accepted != test["valid"]:
                right = False
                out["valid_rejected" if test["valid"] else "invalid_accepted"] += 1
        out["all_tests_right"] += right
    print(file=sys.stderr)
    return out | {"compile_ms": percentiles(compile_ms), "mask_us": percentiles(mask_us),
                  "mask_us_avg": round(sum(mask_us) / max(1, len(mask_us)), 3), "tokens": len(mask_us)}


def measure_troupe(binary, files, model, scratch):
    """Its own benchmark over the same files."""
    for path in scratch.glob("*.json"):
        path.unlink()
    for path in files:
        (scratch / path.name).symlink_to(path.absolute())
    done = subprocess.run([binary, "grammar", "bench", str(scratch), "--model", model, "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    options = arguments()
    enter_environment(options.venv)
    import tempfile
    files = sorted(pathlib.Path(options.folder).glob("*.json"))
    files = files[:options.limit] if options.limit else files
    tokenizer, size, _ = load_tokenizer(options.model)
    makers = {"llguidance": Llguidance, "xgrammar": XGrammar}
    for name in options.engines:
        if name == "troupe":
            with tempfile.TemporaryDirectory() as scratch:
                row = measure_troupe(options.troupe, files, options.model, pathlib.Path(scratch))
        else:
            row = measure(name, makers[name](tokenizer, size), files, tokenizer)
        print(json.dumps({"engine": name} | row), flush=True)


if __name__ == "__main__":
    main()
