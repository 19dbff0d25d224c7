// Matrix products of one thread beside the two limits of the same run: reading memory and dot products from
// registers. CPU time, so that other work on the machine disturbs it little.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/packed_weights.hpp"

namespace {

using namespace troupe;

struct alignas(64) line {
  std::uint64_t words[8];
};

void memory_read(benchmark::State& state) {
  const std::vector<line> memory(static_cast<std::size_t>(state.range(0)) << 14,
                                 line{{1, 2, 3, 4, 5, 6, 7, 8}});
  for (auto _ : state) {
    std::uint64_t sums[8] = {};
    for (const line& part : memory) {
      for (int i = 0; i < 8; ++i) sums[i] += part.words[i];
    }
    benchmark::DoNotOptimize(sums);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(memory.size() * sizeof(line)));
}
BENCHMARK(memory_read)->ArgName("MiB")->Arg(96);

__attribute__((target("avx512f,avx512bw,avx512vnni"))) __m512i dot_chains(__m512i weights, __m512i codes,
                                                                          int rounds) {
  __m512i sums[8];
  for (int i = 0; i < 8; ++i) sums[i] = _mm512_set1_epi32(i);
  for (int i = 0; i < rounds; ++i) {
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, weights, codes);
  }
  for (int i = 1; i < 8; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return sums[0];
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void peak_dot(benchmark::State& state) {
  if (kernels::find_kernels("avx512vnni") == nullptr) return state.SkipWithError("no AVX512-VNNI");
  constexpr int rounds = 10000;
  for (auto _ : state) {
    __m512i sum =
        dot_chains(_mm512_set1_epi8(3), _mm512_set1_epi8(static_cast<char>(state.iterations())), rounds);
    benchmark::DoNotOptimize(sum);
  }
  state.counters["GOP/s"] =
      benchmark::Counter(2.0 * 64 * 8 * rounds * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(peak_dot);

// Four megabytes and more of weights in turn, as the layers of a model follow one another.
void matmul(benchmark::State& state, const kernels::kernel_table* table, kernels::weight_kind kind) {
  const auto rows = static_cast<std::int32_t>(state.range(0));
  const auto inputs = static_cast<std::int32_t>(state.range(1));
  const auto matrix_count = static_cast<std::size_t>(state.range(2));
  kernels::packed_matrix matrix = kernels::describe_packed(kind, 3072, inputs);
  const std::size_t bytes = static_cast<std::size_t>(matrix.panels) * matrix.panel_bytes;
  std::vector<line> memory(matrix_count * bytes / sizeof(line), line{{0x1111111111111111U}});
  const auto groups = static_cast<std::size_t>(inputs) / 32;
  std::vector<kernels::quantized_group> codes((static_cast<std::size_t>(rows) + 7) / 8 * 8 * groups);
  for (auto& group : codes) {
    std::memset(group.codes, 5, sizeof(group.codes));
    group.scale = 0.01F;
  }
  const kernels::activation_rows input{nullptr, 0, codes.data(), groups};
  std::vector<float> out(static_cast<std::size_t>(rows) * 3088);
  std::size_t next = 0;
  for (auto _ : state) {
    matrix.data = reinterpret_cast<const std::byte*>(memory.data()) + next * bytes;
    next = (next + 1) % matrix_count;
    table->matmul(matrix, 0, matrix.panels, input, rows, out.data(), 3088, false);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["GOP/s"] =
      benchmark::Counter(2.0 * 3072 * inputs * rows * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    if (std::string(table->name) == "reference") continue;
    const std::pair<const char*, kernels::weight_kind> kinds[] = {{"u4_min", kernels::weight_kind::u4_min},
                                                                  {"s8", kernels::weight_kind::s8}};
    for (const auto& [name, kind] : kinds) {
      const std::string title = std::string("matmul/") + table->name + "/" + name;
      auto* registered = benchmark::RegisterBenchmark(
          title.c_str(), [table, kind = kind](benchmark::State& state) { matmul(state, table, kind); });
      registered->ArgNames({"rows", "inputs", "matrices"});
      for (const int rows : {1, 2, 4, 8, 16, 32, 64}) registered->Args({rows, 576, 64});
      registered->Args({1, 1536, 32})->Args({32, 1536, 32});
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("cpu", kernels::cpu_model());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
