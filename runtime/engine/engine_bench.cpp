// The host's own work per step: plan, reserve, build the batch, commit; the null executor takes none of the
// time.
#include "runtime/engine/engine.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "runtime/executor/null_executor.hpp"

namespace troupe {
namespace {

engine_request next_request(request_id id, std::int32_t prompt, std::int32_t output) {
  static const auto sampling = [](std::int32_t max_tokens) {
    sampling_params params;
    params.max_tokens = max_tokens;
    return std::make_shared<const sampling_params>(params);
  };
  return {.id = id,
          .prompt = std::vector<token_id>(static_cast<std::size_t>(prompt), 7),
          .sampling = sampling(output)};
}

// state.range(0) sequences decode; whenever one ends another comes, so that prefills are mixed in as in a
// service.
void step_of_running_sequences(benchmark::State& state) {
  const auto running = static_cast<std::int32_t>(state.range(0));
  engine engine(make_null_executor({.block_size = 16, .num_blocks = 40 * running},
                                   [](const sample_row& row) { return row.position; }),
                {.max_num_seqs = running, .max_num_batched_tokens = 8192, .max_model_len = 4096});
  request_id id = 0;
  for (; static_cast<std::int32_t>(id) < running; ++id) {
    benchmark::DoNotOptimize(engine.submit(next_request(id, 128, 1 + static_cast<std::int32_t>(id))));
  }
  for (std::int32_t i = 0; i < 2 * running; ++i) {
    for (const token_event& event : engine.step()) {
      if (event.end) benchmark::DoNotOptimize(engine.submit(next_request(++id, 128, running)));
    }
  }

  std::vector<double> micros;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const token_batch events = engine.step();
    const auto end = std::chrono::steady_clock::now();
    micros.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
    for (const token_event& event : events) {
      if (event.end) benchmark::DoNotOptimize(engine.submit(next_request(++id, 128, running)));
    }
  }
  std::sort(micros.begin(), micros.end());
  state.counters["p50_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
}
BENCHMARK(step_of_running_sequences)->Arg(1)->Arg(25)->Arg(256)->Arg(2560);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
