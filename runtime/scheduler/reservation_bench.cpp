// What preemption costs with and without new_token_ratio: steps and rows of a load that a small pool cannot
// hold at once. docs/engine.md has the table.
#include <benchmark/benchmark.h>

#include <random>

#include "runtime/engine/engine.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"

namespace troupe {
namespace {

constexpr request_id num_requests = 2000;
constexpr token_id end_token = 0;

// Counts the rows that a model would compute. Answers reach their max_tokens, or end at a quarter of it.
class row_counter final : public forwarding_executor {
 public:
  row_counter(std::int32_t num_blocks, bool ends_early, std::int64_t& rows)
      : forwarding_executor(make_null_executor({.block_size = 16, .num_blocks = num_blocks},
                                               [ends_early](const sample_row& row) -> token_id {
                                                 const std::int32_t quarter = *row.sampling->max_tokens / 4;
                                                 return ends_early && row.num_generated + 1 >= quarter
                                                            ? end_token
                                                            : 7;
                                               })),
        rows_(rows) {}
  void forward(const device_batch& batch) override {
    rows_ += static_cast<std::int64_t>(batch.tokens.size());
    forwarding_executor::forward(batch);
  }

 private:
  std::int64_t& rows_;
};

// Gives the rows that the requests need if each is computed once.
std::int64_t submit_all(engine& engine, bool ends_early) {
  std::mt19937 random(1);
  std::int64_t needed = 0;
  for (request_id id = 1; id <= num_requests; ++id) {
    const auto prompt = static_cast<std::int32_t>(32 + random() % 128);
    sampling_params params;
    params.max_tokens = static_cast<std::int32_t>(64 + random() % 449);
    params.ignore_eos = !ends_early;
    needed += prompt - 1 + (ends_early ? *params.max_tokens / 4 : *params.max_tokens);
    benchmark::DoNotOptimize(
        engine.submit({.id = id,
                       .prompt = std::vector<token_id>(static_cast<std::size_t>(prompt), 5),
                       .sampling = std::make_shared<const sampling_params>(params)}));
  }
  return needed;
}

void pool_that_is_too_small(benchmark::State& state) {
  const bool ends_early = state.range(1) != 0;
  std::int64_t rows = 0;
  std::int64_t needed = 0;
  std::int64_t steps = 0;
  std::uint64_t preemptions = 0;
  for (auto _ : state) {
    rows = steps = 0;
    scheduler_limits limits;
    limits.max_num_seqs = 256;
    limits.max_num_batched_tokens = 512;
    limits.max_model_len = 1024;
    limits.max_num_queued_requests = num_requests;
    limits.end_tokens = {end_token};
    limits.enable_prefix_caching = false;
    limits.reserve_new_tokens = state.range(2) != 0;
    engine engine(std::make_unique<row_counter>(static_cast<std::int32_t>(state.range(0)), ends_early, rows),
                  limits);
    needed = submit_all(engine, ends_early);
    for (; !engine.idle(); ++steps) engine.step();
    preemptions = engine.scheduler().counts().preemptions;
  }
  state.counters["steps"] = static_cast<double>(steps);
  state.counters["rows_beyond_needed_%"] =
      100.0 * static_cast<double>(rows - needed) / static_cast<double>(needed);
  state.counters["preemptions"] = static_cast<double>(preemptions);
}
BENCHMARK(pool_that_is_too_small)
    ->ArgNames({"blocks", "ends_early", "new_token_ratio"})
    ->ArgsProduct({{200, 400, 800}, {0, 1}, {0, 1}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
