// Attention of one decode step over paged KV memory beyond the caches: 9 heads on 3 KV heads of 64, as
// SmolLM2-135M has them; one token of each sequence against its whole context, blocks scattered.
#include "runtime/blocks_for.hpp"
#include "runtime/executor/cpu/paged_attention.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "kernels/dispatch.hpp"
#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/machine/usable_cores.hpp"

namespace {

using namespace troupe;

constexpr std::int32_t block_size = 16;

model_config shape(std::int32_t num_layers) {
  model_config config;
  config.num_layers = num_layers;
  config.num_heads = 9;
  config.num_kv_heads = 3;
  config.head_dim = 64;
  return config;
}

// Layers enough that one pass over them does not stay in the caches, and no more: large batches take memory.
std::int32_t layers_for(std::int32_t batch) { return batch == 1 ? 30 : 3; }

device_batch decode_step(std::int32_t batch, std::int32_t context, std::int32_t num_blocks) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(num_blocks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  device_batch step;
  const std::int32_t length = blocks_for(context, block_size);
  for (std::int32_t i = 0; i < batch; ++i) {
    step.sequences.push_back({static_cast<request_id>(i), i, 1, i * length, length});
    step.tokens.push_back(0);
    step.positions.push_back(context - 1);
    step.block_tables.insert(step.block_tables.end(), order.begin() + i * length,
                             order.begin() + (i + 1) * length);
  }
  return step;
}

// Every tile holds the same 16 tokens: what is read does not matter to the time, where it lies does.
void fill(const kv_pool& pool, const kernels::kernel_table& kernels, std::int32_t num_layers) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> key(64);
  std::vector<float> value(64);
  for (std::int32_t token = 0; token < block_size; ++token) {
    for (float& x : key) x = normal(random);
    for (float& x : value) x = normal(random);
    for (std::int32_t block = 0; block < pool.layout().num_blocks; ++block) {
      for (std::int32_t layer = 0; layer < num_layers; ++layer) {
        for (std::int32_t head = 0; head < 3; ++head) {
          kernels.kv(pool.dtype())
              .store(key.data(), value.data(), 64, token, pool.tile(block, 0, layer, head));
        }
      }
    }
  }
}

void decode(benchmark::State& state, const kernels::kernel_table* kernels, kernels::kv_dtype dtype,
            std::int32_t threads) {
  const auto batch = static_cast<std::int32_t>(state.range(0));
  const auto context = static_cast<std::int32_t>(state.range(1));
  const std::int32_t num_layers = layers_for(batch);
  const model_config config = shape(num_layers);
  const std::int32_t num_blocks = batch * blocks_for(context, block_size);
  const std::size_t block_bytes = kernels::tile_bytes(dtype, 64) * 3 * static_cast<std::size_t>(num_layers);
  auto pool = kv_pool::create(config, dtype, block_size, block_bytes * static_cast<std::size_t>(num_blocks));
  if (!pool) return state.SkipWithError(pool.error().message.c_str());
  fill(*pool, *kernels, num_layers);
  const device_batch step = decode_step(batch, context, num_blocks);
  const std::vector<float> queries(static_cast<std::size_t>(batch) * 9 * 64, 0.02F);
  std::vector<float> out(queries.size());
  thread_team team(threads);
  paged_attention attention(*kernels, config, block_size, threads);
  attention.reserve(batch);
  attention.plan(step);
  for (auto _ : state) {
    team.run([&](std::int32_t member) {
      for (std::int32_t layer = 0; layer < num_layers; ++layer) {
        attention.run(team, member, step, *pool, layer, queries.data(), 9 * 64, out.data(), 9 * 64);
        team.barrier();
      }
    });
  }
  const double layers = static_cast<double>(num_layers);
  state.counters["layer"] = benchmark::Counter(layers, benchmark::Counter::kIsIterationInvariantRate |
                                                           benchmark::Counter::kInvert);  // seconds a layer
  state.SetBytesProcessed(state.iterations() * num_blocks * static_cast<std::int64_t>(block_bytes));
}

}  // namespace

int main(int argc, char** argv) {
  const kernels::kernel_table* table = kernels::find_kernels("auto");
  const std::int32_t threads = usable_cores();
  for (const kernels::kv_dtype dtype : {kernels::kv_dtype::f16, kernels::kv_dtype::int8}) {
    const std::string title = std::string("decode_attention/") + table->name + "/" + to_string(dtype);
    benchmark::RegisterBenchmark(title.c_str(),
                                 [=](benchmark::State& state) { decode(state, table, dtype, threads); })
        ->ArgNames({"batch", "context"})
        ->ArgsProduct({{1, 32}, {128, 1024, 6000}})
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("cpu", kernels::cpu_model());
  benchmark::AddCustomContext("threads", std::to_string(threads));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
