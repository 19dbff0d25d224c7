// Bytes per second of encoding with the default model's vocabulary: tokenizer_bench MODEL.gguf [TEXT]
#include <benchmark/benchmark.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "runtime/tokenizer/tokenizer.hpp"

namespace {

void encode(benchmark::State& state, const troupe::tokenizer_ptr& tokenizer, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->encode(text, {}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 2) {
    std::cerr << "usage: tokenizer_bench MODEL.gguf [TEXT]\n";
    return 1;
  }
  const auto file = troupe::gguf::file::open(argv[1]);
  const auto tokenizer = file ? troupe::load_tokenizer(*file) : tl::unexpected(file.error());
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  constexpr std::size_t mebibyte = 1U << 20U;
  const auto add = [&](const char* name, const std::string& text) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      encode(state, *tokenizer, text);
    })->Unit(benchmark::kMillisecond);
  };
  add("one letter, 1 MiB", std::string(mebibyte, 'a'));
  add("spaces, 1 MiB", std::string(mebibyte, ' '));
  if (argc > 2) add("text", read(argv[2]).substr(0, mebibyte));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
