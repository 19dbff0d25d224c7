#include "metrics/service_figures.hpp"

#include <gtest/gtest.h>

namespace troupe::metrics {
namespace {

const metrics_options options_of_service{.model_name = "m", .engine = "0", .num_speculative_tokens = 2};

TEST(ServiceFigures, CountersBecomeRatesAndGaugesStay) {
  engine_metrics metrics(options_of_service);
  metrics.add_generation_tokens(1000);
  const exposition before(metrics.text());
  metrics.set_health(true, true);
  metrics.set_info({.version = "1.2", .cpu = "A CPU", .kernel_path = "avx2", .threads = 3});
  metrics.set_requests(2, 5);
  metrics.set_kv_cache_usage(0.25);
  metrics.add_generation_tokens(300);
  metrics.add_prompt_tokens(50);
  metrics.add_prefix_cache(40, 10);
  metrics.add_drafts(2, 8, 6);
  metrics.add_preemptions(4);
  metrics.add_request_error(500);
  const service_figures now = figures_of(before, exposition(metrics.text()), 2);
  EXPECT_EQ(now.model, "m");
  EXPECT_EQ(now.version, "1.2");
  EXPECT_EQ(now.cpu, "A CPU");
  EXPECT_EQ(now.kernel_path, "avx2");
  EXPECT_EQ(now.threads, "3");
  EXPECT_TRUE(now.live && now.ready);
  EXPECT_EQ(now.running, 2);
  EXPECT_EQ(now.waiting, 5);
  EXPECT_EQ(now.generated_per_second, 150);
  EXPECT_EQ(now.prompt_per_second, 25);
  EXPECT_EQ(now.prefix_cache_hits, 0.25);
  EXPECT_EQ(now.accepted_drafts, 0.75);
  EXPECT_EQ(now.kv_cache_usage, 0.25);
  EXPECT_EQ(now.preemptions, 4);
  EXPECT_EQ(now.errors_per_second, 0.5);
  EXPECT_GT(now.resident_bytes, 1 << 20);
}

TEST(ServiceFigures, CpuAndMemoryAreTheRunnersToo) {
  const exposition before("process_cpu_seconds_total 1\ntroupe_runner_cpu_seconds_total 10\n");
  const exposition after(
      "process_cpu_seconds_total 2\ntroupe_runner_cpu_seconds_total 13\n"
      "process_resident_memory_bytes 100\ntroupe_runner_resident_memory_bytes 1000\n");
  const service_figures now = figures_of(before, after, 2);
  EXPECT_EQ(now.cpu_cores, 2);
  EXPECT_EQ(now.resident_bytes, 1100);
}

TEST(ServiceFigures, QuantilesAreOfTheIntervalAlone) {
  engine_metrics metrics(options_of_service);
  for (int i = 0; i < 100; ++i) metrics.observe_first_token(100);
  const exposition before(metrics.text());
  for (int i = 0; i < 4; ++i) metrics.observe_first_token(0.3);  // between 0.25 and 0.5
  const exposition after(metrics.text());
  const interval both(before, after, 1);
  EXPECT_DOUBLE_EQ(both.quantile(0.5, "vllm:time_to_first_token_seconds").value(), 0.375);
  EXPECT_DOUBLE_EQ(both.quantile(1, "vllm:time_to_first_token_seconds").value(), 0.5);
  EXPECT_EQ(both.quantile(0.5, "vllm:inter_token_latency_seconds"), std::nullopt);
  EXPECT_EQ(both.quantile(0.5, "no such histogram"), std::nullopt);
  EXPECT_NEAR(both.mean("vllm:time_to_first_token_seconds").value(), 0.3, 1e-9);
  EXPECT_EQ(both.mean("vllm:inter_token_latency_seconds"), std::nullopt);
}

TEST(ServiceFigures, BeyondTheLastBoundAQuantileIsThatBound) {
  engine_metrics metrics(options_of_service);
  const exposition before(metrics.text());
  metrics.observe_first_token(1e6);
  const exposition after(metrics.text());
  EXPECT_EQ(interval(before, after, 1).quantile(0.99, "vllm:time_to_first_token_seconds"), 2560);
}

TEST(ServiceFigures, ACounterThatShrankBeganAnew) {
  engine_metrics old(options_of_service);
  old.add_generation_tokens(1000);
  engine_metrics fresh(options_of_service);
  fresh.add_generation_tokens(30);
  EXPECT_EQ(figures_of(exposition(old.text()), exposition(fresh.text()), 3).generated_per_second, 10);
}

TEST(ServiceFigures, ActorsAreListedByName) {
  engine_metrics metrics(options_of_service);
  actor_meter& scheduler = metrics.actor("scheduler");
  histogram& submit = scheduler.message("submit");
  histogram& abort = scheduler.message("abort");
  metrics.actor("kv_cache");
  const exposition before(metrics.text());
  submit.observe(0.25);
  submit.observe(0.25);
  abort.observe(1);
  scheduler.add_restart();
  actor_meter::mailbox mailbox(scheduler);
  mailbox.set(7);
  const service_figures now = figures_of(before, exposition(metrics.text()), 2);
  ASSERT_EQ(now.actors.size(), 2U);
  EXPECT_EQ(now.actors[0].actor, "kv_cache");
  EXPECT_EQ(now.actors[0].message_time, std::nullopt);
  EXPECT_EQ(now.actors[1].actor, "scheduler");
  EXPECT_EQ(now.actors[1].mailbox_size, 7);
  EXPECT_EQ(now.actors[1].messages_per_second, 1.5);
  EXPECT_EQ(now.actors[1].message_time, 0.5);
  EXPECT_EQ(now.actors[1].restarts, 1);
}

TEST(ServiceFigures, NothingToReadIsNeitherLiveNorReady) {
  const service_figures none = figures_of(exposition(), exposition(), 1);
  EXPECT_FALSE(none.live);
  EXPECT_FALSE(none.ready);
  EXPECT_TRUE(none.actors.empty());
}

}  // namespace
}  // namespace troupe::metrics
