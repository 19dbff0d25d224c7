// Time to compile grammars and to fill masks with the default model's vocabulary: grammar_bench MODEL.gguf
#include <benchmark/benchmark.h>

#include <iostream>
#include <string>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/notations/ebnf.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace {

using namespace troupe;
using namespace troupe::grammar;

struct example {
  const char* name;
  std::string grammar, text;
};

const std::vector<example>& examples() {
  static const std::string json = R"x(start: value
value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
array: "[" [value ("," value)*] "]"
ESCAPED_STRING: /"([^"\\\x00-\x1F]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
%import common.SIGNED_NUMBER
WS: /[ \n]{1,4}/
%ignore WS
)x";
  static const std::vector<example> all{
      {"json", json,
       R"({"name": "John Smith", "age": 30, "tags": ["a", "b"], "nested": {"x": {"y": [1, 2.5, null]}}})"},
      {"letters", "root ::= [a-z]+", "somelettersinarow"},
      {"bounded", "root ::= \"\\\"\" [^\"]{0,40} \"\\\"\"", "\"a text of some words\""},
      {"choice", "root ::= \"red\" | \"green\" | \"blue\" | \"none of these\"", "none of these"}};
  return all;
}

void compile_one(benchmark::State& state, const example& e, const token_trie_ptr& trie) {
  for (auto _ : state) {
    auto builder = ebnf_grammar(e.grammar, {});
    benchmark::DoNotOptimize(compile(std::move(*builder), trie));
  }
}

// One pass along the text: every mask, every token. Fresh: nothing is remembered from the pass before.
void fill_masks(benchmark::State& state, const example& e, const token_trie_ptr& trie,
                const tokenizer_ptr& tokenizer, bool fresh) {
  const auto builder = ebnf_grammar(e.grammar, {});
  const auto tokens = tokenizer->encode(e.text, {.add_special_tokens = false, .parse_special = false});
  std::vector<std::uint32_t> mask(trie->num_words());
  auto grammar = compile(grammar_builder(*builder), trie);
  for (auto _ : state) {
    if (fresh) {
      state.PauseTiming();
      grammar = compile(grammar_builder(*builder), trie);
      state.ResumeTiming();
    }
    matcher m(*grammar);
    for (const token_id token : tokens)
      if (!m.fill_mask(mask) || !m.accept(token)) state.SkipWithError("the text is not of the grammar");
  }
  state.counters["us/mask"] =
      benchmark::Counter(static_cast<double>(tokens.size()) * 1e-6,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 2) {
    std::cerr << "usage: grammar_bench MODEL.gguf\n";
    return 1;
  }
  const auto file = gguf::file::open(argv[1]);
  const auto tokenizer = file ? load_tokenizer(*file) : tl::unexpected(file.error());
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  const token_trie_ptr trie = make_token_trie(**tokenizer);
  const auto add = [](const std::string& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMicrosecond);
  };
  add("vocabulary", [&](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(make_token_trie(**tokenizer));
  });
  for (const example& e : examples()) {
    add(std::string("compile/") + e.name, [&](benchmark::State& state) { compile_one(state, e, trie); });
    for (const bool fresh : {true, false})
      add(std::string(fresh ? "first masks/" : "known masks/") + e.name,
          [&, fresh](benchmark::State& state) { fill_masks(state, e, trie, *tokenizer, fresh); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
