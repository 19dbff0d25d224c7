#include "runtime/executor/warm_up/sampler_warm_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

// What one call of sample() was given.
struct call {
  std::size_t rows = 0;
  sampling_params setting = {};
  bool masked = false;
  std::size_t sequences = 0;
  std::size_t drafts = 0;         // sequences with drafts, and ...
  std::size_t verified = 0;       // ... samples whose draft is accepted or rejected by chance, or ...
  std::size_t kept = 0;           // ... that are such drafts
  const void* rows_at = nullptr;  // tells a rebuilt batch from the same one
};

class recorder final : public executor {
 public:
  kv_layout layout() const override { return {16, 8, 1}; }
  void forward(const device_batch&) override {
    ADD_FAILURE() << "the sampler's warm-up runs no forward pass";
  }
  void load_dummy_hidden_states(std::int32_t rows) override { hidden.push_back(rows); }
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    EXPECT_TRUE(result.tokens.empty()) << "results are reset before every setting";
    call one;
    one.masked = masks != nullptr;
    one.rows = batch.samples.size();
    if (!batch.samples.empty()) {
      one.setting = *batch.samples.front().sampling;
      one.rows_at = batch.samples.data();
    }
    one.sequences = batch.sequences.size();
    one.drafts = batch.drafts.size();
    one.verified = static_cast<std::size_t>(
        std::ranges::count_if(batch.verified, [](const drafted_token* draft) { return draft != nullptr; }));
    one.kept = static_cast<std::size_t>(
        std::ranges::count_if(batch.kept, [](const kept_distribution* kept) { return kept != nullptr; }));
    EXPECT_EQ(batch.num_rows(), static_cast<std::int32_t>(batch.samples.size()));
    EXPECT_LE(batch.num_rows(), hidden.back());
    for (const sequence_rows& each : batch.sequences) EXPECT_EQ(each.table_length, 1);
    for (const sample_row& each : batch.samples) {
      const sequence_rows& rows = batch.sequences[static_cast<std::size_t>(each.sequence)];
      EXPECT_EQ(each.history.size(), 2U + static_cast<std::size_t>(each.row - rows.first_row));
    }
    calls.push_back(one);
    result.tokens.resize(batch.samples.size());
  }
  void synchronize() override { ++synchronized; }
  std::string kernel_path() const override { return "recorder"; }

  std::vector<std::int32_t> hidden;
  std::vector<call> calls;
  int synchronized = 0;
};

TEST(SamplerWarmUp, TellsSizesAndSettingsAsDocumented) {
  const std::vector<std::int32_t> sizes{0, 1, 138};
  EXPECT_EQ(
      describe_sampler_warm_up(sizes),
      (std::vector<std::string>{"Warming up sampler with batch sizes: [0, 1, 138] and following configs:",
                                "temp=0.0, top_p=1.0, top_k=0, batch_changed=True",
                                "temp=1.0, top_p=1.0, top_k=0, batch_changed=True",
                                "temp=0.7, top_p=0.9, top_k=50, batch_changed=True",
                                "temp=0.3, top_p=0.95, top_k=20, batch_changed=True",
                                "temp=1.2, top_p=0.8, top_k=100, batch_changed=True",
                                "temp=0.8, top_p=0.85, top_k=0, batch_changed=True",
                                "temp=1.0, top_p=1.0, top_k=0, min_p=0.1, batch_changed=True",
                                "temp=0.7, top_p=1.0, top_k=0, penalty=0.5, batch_changed=True",
                                "temp=0.7, top_p=1.0, top_k=0, masked, batch_changed=True",
                                "temp=0.0, top_p=1.0, top_k=0, drafts=4, batch_changed=True",
                                "temp=0.7, top_p=1.0, top_k=0, drafts=4, by chance, batch_changed=True",
                                "temp=0.0, top_p=1.0, top_k=0, batch_changed=False",
                                "temp=1.0, top_p=1.0, top_k=0, batch_changed=False",
                                "temp=0.7, top_p=0.9, top_k=50, batch_changed=False",
                                "temp=0.3, top_p=0.95, top_k=20, batch_changed=False",
                                "temp=1.2, top_p=0.8, top_k=100, batch_changed=False",
                                "temp=0.8, top_p=0.85, top_k=0, batch_changed=False",
                                "temp=1.0, top_p=1.0, top_k=0, min_p=0.1, batch_changed=False",
                                "temp=0.7, top_p=1.0, top_k=0, penalty=0.5, batch_changed=False",
                                "temp=0.7, top_p=1.0, top_k=0, masked, batch_changed=False",
                                "temp=0.0, top_p=1.0, top_k=0, drafts=4, batch_changed=False",
                                "temp=0.7, top_p=1.0, top_k=0, drafts=4, by chance, batch_changed=False",
                                "Starting sampler warmup..."}));
}

TEST(SamplerWarmUp, HasTheBatchSizesOfTheDecodeBuckets) {
  bucket_plan plan;
  EXPECT_EQ(sampler_batch_sizes(plan, 512), (std::vector<std::int32_t>{0, 1}));
  plan.decode = {{138, 1, 16}, {138, 1, 32}};
  EXPECT_EQ(sampler_batch_sizes(plan, 512), (std::vector<std::int32_t>{0, 1, 138}));
  plan.decode = {{1, 1, 16}, {4, 1, 16}, {2, 1, 16}};
  EXPECT_EQ(sampler_batch_sizes(plan, 512), (std::vector<std::int32_t>{0, 1, 2, 4}));
  EXPECT_EQ(sampler_batch_sizes(plan, 3), (std::vector<std::int32_t>{0, 1, 2}))
      << "no more than a step has rows";
}

TEST(SamplerWarmUp, RunsEverySettingWithTheBatchChangedThenAsItWas) {
  recorder device;
  warm_up_sampler(device, 3, 512);
  EXPECT_EQ(device.hidden, std::vector<std::int32_t>(22, 15)) << "a request's step may come in between";
  ASSERT_EQ(device.calls.size(), 22U);
  EXPECT_EQ(device.synchronized, 1);
  for (std::size_t i = 0; i < 22; ++i) {
    const sampler_setting& expected = sampler_settings()[i % 11];
    EXPECT_EQ(device.calls[i].sequences, 3U);
    EXPECT_EQ(device.calls[i].rows, expected.drafts > 0 ? 15U : 3U) << i;
    EXPECT_EQ(device.calls[i].drafts, expected.drafts > 0 ? 3U : 0U) << i;
    EXPECT_EQ(device.calls[i].verified, expected.by_chance ? 12U : 0U) << i;
    EXPECT_EQ(device.calls[i].kept, expected.by_chance ? 1U : 0U) << i;
    EXPECT_EQ(device.calls[i].setting.temperature, expected.temperature) << i;
    EXPECT_EQ(device.calls[i].setting.top_p, expected.top_p) << i;
    EXPECT_EQ(device.calls[i].setting.top_k, expected.top_k) << i;
    EXPECT_EQ(device.calls[i].setting.min_p, expected.min_p) << i;
    EXPECT_EQ(device.calls[i].setting.frequency_penalty, expected.penalty) << i;
    EXPECT_EQ(device.calls[i].masked, expected.masked) << i;
    if (i >= 11) {
      EXPECT_EQ(device.calls[i].rows_at, device.calls[expected.drafts > 0 ? i - 11 : 8].rows_at) << i;
    }
  }
}

TEST(SamplerWarmUp, VerifiesAsManyDraftsAsAStepHasRows) {
  recorder device;
  warm_up_sampler(device, 4, 12);
  EXPECT_EQ(device.hidden, std::vector<std::int32_t>(22, 12));
  EXPECT_EQ(device.calls[0].sequences, 4U);
  EXPECT_EQ(device.calls[9].sequences, 2U + 1U);
  EXPECT_EQ(device.calls[9].rows, 12U);
}

TEST(SamplerWarmUp, TakesABatchOfNobody) {
  recorder device;
  warm_up_sampler(device, 0, 512);
  EXPECT_EQ(device.calls.size(), 22U);
}

TEST(SamplerWarmUp, GoesThroughTheExecutorsOwnSamplingAndChangesNothing) {
  const auto model = test::load_from_memory(test::tiny_model({}));
  cpu_executor_options options;
  options.limits = {.max_rows = 32, .max_sequences = 8, .kv_cache_bytes = 1U << 20};
  options.threads = 2;
  const auto generate = [&](bool warm) {
    auto device = make_cpu_executor(model, options);
    EXPECT_TRUE(device.has_value());
    test::executor_driver driver(**device);
    sampling_params sampling;
    sampling.seed = 5;
    const auto one = driver.add({1, 2, 3}, sampling);
    for (int i = 0; i < 6; ++i) {
      driver.step({{one, i == 0 ? 3 : 1}});
      if (warm)
        for (const std::int32_t size : {0, 1, 8, 32}) warm_up_sampler(**device, size, 32);
    }
    return driver.output(one);
  };
  EXPECT_EQ(generate(true), generate(false));
}

}  // namespace
}  // namespace troupe
