// What a scrape costs, and what it costs to be measured.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "metrics/engine_metrics.hpp"

namespace troupe::metrics {
namespace {

// As large as a company's with drafts.
void fill(engine_metrics& metrics, std::int64_t buckets) {
  for (const char* actor :
       {"supervisor", "scheduler", "kv_cache", "tokenizer", "model_runner", "structured_output",
        "grammar_compiler", "drafter", "gateway", "http_gateway", "tcp_gateway"})
    for (int message = 0; message < 6; ++message)
      metrics.actor(actor).message(std::to_string(message)).observe(1e-5);
  for (std::int64_t bucket = 0; bucket < buckets; ++bucket)
    metrics.count_bucket_execution(std::to_string(bucket));
}

void text(benchmark::State& state) {
  engine_metrics metrics({.model_name = "SmolLM2-135M-Instruct", .num_speculative_tokens = 8});
  fill(metrics, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(metrics.text());
  state.counters["bytes"] = static_cast<double>(metrics.text().size());
}
BENCHMARK(text)->Arg(30)->Arg(20'000)->Unit(benchmark::kMicrosecond);

void observe(benchmark::State& state) {
  engine_metrics metrics({.model_name = "m"});
  for (auto _ : state) metrics.observe_inter_token(0.004);
}
BENCHMARK(observe);

void time_a_message(benchmark::State& state) {
  using clock = std::chrono::steady_clock;
  engine_metrics metrics({.model_name = "m"});
  actor_meter& meter = metrics.actor("scheduler");
  histogram& durations = meter.message("submit");
  actor_meter::mailbox mailbox(meter);
  std::size_t size = 0;
  for (auto _ : state) {
    mailbox.set(++size % 2);
    const auto began = clock::now();
    benchmark::DoNotOptimize(began);
    durations.observe(in_seconds(clock::now() - began));
  }
}
BENCHMARK(time_a_message);

void count_bucket(benchmark::State& state) {
  engine_metrics metrics({.model_name = "m"});
  fill(metrics, 30);
  const std::string bucket = "17";
  for (auto _ : state) metrics.count_bucket_execution(bucket);
}
BENCHMARK(count_bucket);

}  // namespace
}  // namespace troupe::metrics

BENCHMARK_MAIN();
