// The warm-up of a draft model: it tells what drafts cost, chooses plans, and changes no draft.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

constexpr executor_limits tiny_limits{
    .max_rows = 32, .max_sequences = 8, .max_model_len = 200, .block_size = 16};

const model_ptr& tiny() {
  static const model_ptr model = test::load_from_memory(test::tiny_model());
  return model;
}

std::unique_ptr<executor> tiny_device() {
  cpu_executor_options cpu;
  cpu.limits = tiny_limits;
  cpu.limits.kv_cache_bytes = 4U << 20U;
  cpu.threads = 1;
  return std::move(*make_cpu_executor(tiny(), cpu));
}

draft_model_options tiny_options() {
  draft_model_options out;
  out.max_rows = tiny_limits.max_rows;
  out.max_sequences = tiny_limits.max_sequences;
  out.max_model_len = tiny_limits.max_model_len;
  out.vocab_size = tiny()->config.vocab_size;
  return out;
}

// All of a model whose limits are larger than the draft model's.
std::vector<warm_up_item> items_of_the_model() {
  executor_limits larger = tiny_limits;
  larger.max_rows = 128;
  larger.max_sequences = 64;
  return warm_up_items({}, larger, 16, warm_up_extent::every_bucket, {.tune = true, .verification = true});
}

// Each step takes as long as it is told.
class timed_executor final : public forwarding_executor {
 public:
  timed_executor(std::unique_ptr<executor> inner, std::chrono::nanoseconds& now)
      : forwarding_executor(std::move(inner)), now_(now) {}
  void forward(const device_batch& batch) override {
    now_ += std::chrono::microseconds(900);
    forwarding_executor::forward(batch);
  }

 private:
  std::chrono::nanoseconds& now_;
};

// Counts the steps that need a graph, and those that do not.
class counting_executor final : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  void forward(const device_batch& batch) override {
    ++(batch.needs_graph ? with_graph : without);
    forwarding_executor::forward(batch);
  }
  int with_graph = 0;
  int without = 0;
};

std::size_t first_drafts_of_a_dear_model(bool is_warm) {
  std::chrono::nanoseconds now{0};
  draft_model_options options = tiny_options();
  options.adaptive = true;
  options.now = [&now] { return now; };
  draft_model model(std::make_shared<timed_executor>(tiny_device(), now), options);
  for (const std::int32_t rows : {1, 64})
    model.target_step(rows, std::chrono::milliseconds(rows < 64 ? 1 : 2));
  if (is_warm) {
    for (const warm_up_item& item : items_of_the_model())
      for (int round = 0; item.phase == warm_up_phase::verification && round < 6; ++round)
        model.warm_up(item);
  }
  model.open(1, std::vector<token_id>{1, 20, 33}, test::greedy());
  return model.propose(std::vector<request_id>{1}).size();
}

TEST(DraftModelWarmUp, TellsWhatADraftCostsBeforeTheFirstOne) {
  EXPECT_EQ(first_drafts_of_a_dear_model(false), 1U);
  EXPECT_EQ(first_drafts_of_a_dear_model(true), 0U);
}

TEST(DraftModelWarmUp, NeedsAGraphWhereTheModelDoes) {
  const auto device = std::make_shared<counting_executor>(tiny_device());
  draft_model model(device, tiny_options());
  const auto warm = [&](bool needs_graph) {
    for (const warm_up_item& item : items_of_the_model())
      if (item.phase != warm_up_phase::tuning) model.warm_up(item, needs_graph);
  };
  warm(true);
  const int steps = device->with_graph;
  EXPECT_GT(steps, 4);
  EXPECT_EQ(device->without, 0);
  warm(false);
  EXPECT_EQ(device->with_graph, steps);
  EXPECT_EQ(device->without, steps);
}

TEST(DraftModelWarmUp, ChangesNoDraft) {
  std::vector<std::vector<token_id>> drafts;
  for (const bool is_warm : {false, true}) {
    draft_model model(tiny_device(), tiny_options());
    model.open(1, std::vector<token_id>{1, 20, 33, 47}, test::greedy());
    model.open(2, std::vector<token_id>{1, 5, 90}, test::greedy());
    const std::vector<request_id> both = {1, 2};
    std::vector<token_id> all;
    for (int round = 0; round < 3; ++round) {
      for (const draft& guess : model.propose(both)) {
        all.insert(all.end(), guess.tokens.begin(), guess.tokens.end());
        model.append(guess.id, std::span(guess.tokens).first(2));
      }
      if (!is_warm || round != 1) continue;
      for (const warm_up_item& item : items_of_the_model())
        if (item.phase != warm_up_phase::tuning) model.warm_up(item);
    }
    EXPECT_EQ(all.size(), 24U);
    drafts.push_back(all);
  }
  EXPECT_EQ(drafts[0], drafts[1]);
}

TEST(DraftModelWarmUp, ChoosesPlansAndKeepsThem) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "draft-model-tuning";
  std::filesystem::remove_all(folder);
  const std::shared_ptr<executor> device = tiny_device();
  const draft_tuning tuning{true, {"cpu", "path", 1, device->plans()->shape()}, folder / "plans.json"};
  draft_model_options options = tiny_options();
  options.now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  draft_model model(device, options, tuning);
  EXPECT_TRUE(model.wants_tuning());
  result<void> kept;
  for (const warm_up_item& item : items_of_the_model())
    while (item.phase == warm_up_phase::tuning && !model.tune(item, kept)) {
    }
  EXPECT_TRUE(kept);
  ASSERT_EQ(device->plans()->chosen().size(), 2U);
  EXPECT_LE(device->plans()->chosen().rbegin()->first, tiny_limits.max_rows);
  EXPECT_EQ(*read_tuning_file(tuning.file, tuning.key), device->plans()->chosen());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace troupe
