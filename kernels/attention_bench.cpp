// One KV head against a context: queries that share each load of K and V, as in grouped-query attention.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/kernel_table.hpp"

namespace {

using namespace troupe;

void attend(benchmark::State& state, const kernels::kernel_table* table, kernels::kv_dtype dtype) {
  const auto queries = static_cast<std::int32_t>(state.range(0));
  const auto tokens = static_cast<std::int32_t>(state.range(1));
  constexpr std::int32_t head_dim = 64;
  const std::size_t tile_size = kernels::tile_bytes(dtype, head_dim);
  std::vector<std::byte> memory(tile_size * kernels::stretch_tiles, std::byte{0x34});
  std::vector<const std::byte*> tiles;
  for (std::size_t t = 0; t < kernels::stretch_tiles; ++t) tiles.push_back(memory.data() + t * tile_size);
  std::vector<float> values(static_cast<std::size_t>(queries) * head_dim, 0.1F);
  std::vector<float> outputs(values.size());
  std::vector<float> scores(static_cast<std::size_t>(queries) * kernels::stretch_tokens);
  std::vector<std::int16_t> codes(static_cast<std::size_t>(queries) * kernels::code_stride(head_dim));
  kernels::attend_arguments arguments{};
  for (std::int32_t q = 0; q < queries; ++q) {
    arguments.queries[q] = values.data() + q * head_dim;
    arguments.limits[q] = tokens;
    arguments.outputs[q] = outputs.data() + q * head_dim;
  }
  arguments.tiles = tiles.data();
  arguments.num_queries = queries;
  arguments.head_dim = head_dim;
  arguments.scores = scores.data();
  arguments.codes = codes.data();
  for (auto _ : state) {
    table->kv(dtype).attend(arguments);
    benchmark::ClobberMemory();
  }
  const double multiplications = 2.0 * queries * tokens * head_dim;
  state.counters["GFLOP/s"] =
      benchmark::Counter(2.0 * multiplications * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.SetBytesProcessed(state.iterations() * tokens * static_cast<std::int64_t>(tile_size) /
                          kernels::tile_tokens);
}

}  // namespace

int main(int argc, char** argv) {
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const kernels::kv_dtype dtype : {kernels::kv_dtype::f16, kernels::kv_dtype::int8}) {
      const std::string title = std::string("attend/") + table->name + "/" + to_string(dtype);
      benchmark::RegisterBenchmark(title.c_str(),
                                   [=](benchmark::State& state) { attend(state, table, dtype); })
          ->ArgNames({"queries", "tokens"})
          ->ArgsProduct({{1, 3, 6}, {16, 128, 256}});
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("cpu", kernels::cpu_model());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
