// A device that finds no memory for the warm-up: the KV cache gives some of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"
#include "tests/support/seeds.hpp"

namespace troupe::test {
namespace {

constexpr std::int32_t all_blocks = 64;

bool is_decode(const device_batch& batch) {
  return batch.num_rows() == static_cast<std::int32_t>(batch.sequences.size());
}
bool wants_graph(const device_batch& batch) { return batch.needs_graph && is_decode(batch); }

// A device's memory, counted in blocks of its KV cache.
struct small_memory {
  std::int32_t beside_cache = 0;  // that is there when the cache has all it can
  // What a step keeps for good, as a graph does.
  std::function<std::int32_t(const device_batch&)> takes = [](const device_batch& batch) {
    return wants_graph(batch) ? 1 : 0;
  };
  std::vector<std::int32_t> caches = {};  // that were taken after the first, in blocks
  std::vector<std::int32_t> graphs = {};  // sequences of the steps that needed one
  bool is_out_of_bounds = false;          // a step has named a block that the cache does not have
  bool is_disturbed = false;  // a step was asked for while one that has failed may still have been computed
  bool is_next_cache_refused = false;
  std::int32_t most_of_next_cache = all_blocks;  // as where somebody else takes memory meanwhile
  int opened = 0;

  company_setup setup(std::vector<std::int32_t> graphs = {1, 2, 4, 8});
};

class small_memory_device final : public forwarding_executor {
 public:
  small_memory_device(small_memory& memory, const company_setup& setup)
      : forwarding_executor(make_null_executor({setup.block_size, setup.num_blocks, 1}, setup.script)),
        memory_(memory),
        layout_{setup.block_size, setup.num_blocks, 1} {}
  kv_layout layout() const override { return layout_; }
  result<void> take_kv_cache(const kv_cache_claim& claim) override {
    if (std::exchange(memory_.is_next_cache_refused, false))
      return fail(error_code::resource_exhausted, "somebody else has it");
    layout_.num_blocks = std::min(claim.num_blocks, memory_.most_of_next_cache);
    memory_.caches.push_back(layout_.num_blocks);
    memory_.most_of_next_cache = all_blocks;
    kept_ = 0;
    return {};
  }
  void forward(const device_batch& batch) override {
    memory_.is_out_of_bounds = memory_.is_out_of_bounds || is_out_of_bounds(batch);
    if (wants_graph(batch)) memory_.graphs.push_back(static_cast<std::int32_t>(batch.sequences.size()));
    const std::int32_t takes = memory_.takes(batch);
    memory_.is_disturbed = memory_.is_disturbed || may_compute_;
    may_compute_ = kept_ + takes > memory_.beside_cache + all_blocks - layout_.num_blocks;
    if (may_compute_)
      throw out_of_device_memory("no memory for a step of " + std::to_string(batch.num_rows()));
    kept_ += takes;
    forwarding_executor::forward(batch);
  }
  void synchronize() override { may_compute_ = false; }

 private:
  // The block behind the cache is the warm-up's, and nobody else's.
  bool is_out_of_bounds(const device_batch& batch) const {
    if (!batch.sequences.empty() && batch.table(0).front() == layout_.num_blocks) return false;
    const auto is_beyond = [this](std::int32_t block) { return block >= layout_.num_blocks; };
    for (std::size_t i = 0; i < batch.sequences.size(); ++i)
      if (std::ranges::any_of(batch.table(i), is_beyond)) return true;
    return false;
  }

  small_memory& memory_;
  kv_layout layout_;
  std::int32_t kept_ = 0;
  bool may_compute_ = false;
};

company_setup small_memory::setup(std::vector<std::int32_t> graphs) {
  company_setup out;
  out.num_blocks = all_blocks;
  out.warm_up = warm_up_mode::full;
  out.adjust = [this, out, graphs = std::move(graphs)](supervisor_parts& parts) {
    parts.steps.graphs = graphs;
    parts.open_device = [this, out](bool) -> result<runner_device> {
      ++opened;
      return runner_device{std::make_shared<small_memory_device>(*this, out), nullptr};
    };
  };
  return out;
}

double cache_of(stage& stage, std::int32_t blocks) {
  return stage.metric("vllm:cache_config_info", {{"num_gpu_blocks", std::to_string(blocks)}});
}

// Warms up with the requests of later.
void expect_ready_with(stage& stage, std::int32_t blocks) {
  stage.run();
  ASSERT_TRUE(stage.status().ready && stage.status().live) << stage.status().reason;
  EXPECT_EQ(stage.roster().num_blocks, blocks);
  EXPECT_EQ(cache_of(stage, blocks), 1);
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
  stage.expect_served(stage::runner_settles);
}

// Also where it is lazy.
void expect_warm(stage& stage, std::int32_t blocks) {
  for (int i = 0; i < 40; ++i) {
    stage.run();
    stage.advance(std::chrono::milliseconds(100));
  }
  expect_ready_with(stage, blocks);
}

TEST(WarmUpShortage, MakesTheKvCacheSmallerUntilAllGraphsAreThere) {
  const net::testing::captured_log log;
  small_memory memory{.beside_cache = 2};
  memory.takes = [](const device_batch& batch) { return wants_graph(batch) ? 2 : 0; };
  stage stage(memory.setup());
  expect_ready_with(stage, 56);
  EXPECT_EQ(memory.caches, (std::vector<std::int32_t>{60, 56}));
  EXPECT_EQ(memory.graphs, (std::vector<std::int32_t>{8, 4, 8, 4, 2, 1, 8, 4, 2, 1, 8}))
      << "all again after each cache that is gone; the last is the step without buckets, which runs as the "
         "graph of 8";
  EXPECT_EQ(log.count("finds no memory on the device: the KV cache shrinks"), 2U);
  EXPECT_EQ(log.count("the KV cache has 60 blocks in place of 64"), 1U);
  EXPECT_EQ(log.count("left out"), 0U);
  EXPECT_FALSE(memory.is_out_of_bounds);
}

TEST(WarmUpShortage, LeavesAGraphOutThatAQuarterOfTheCacheIsNotEnoughFor) {
  const net::testing::captured_log log;
  small_memory memory;
  memory.takes = [](const device_batch& batch) {
    return wants_graph(batch) && batch.num_rows() == 4 ? 99 : 0;
  };
  stage stage(memory.setup());
  expect_ready_with(stage, 48);
  EXPECT_EQ(memory.caches, (std::vector<std::int32_t>{60, 56, 52, 48}));
  EXPECT_EQ(log.count("finds no memory on the device: the KV cache shrinks"), 4U);
  EXPECT_EQ(log.count("left out"), 0U) << "the step itself runs";
}

TEST(WarmUpShortage, LeavesAStepOutThatAQuarterOfTheCacheIsNotEnoughFor) {
  for (const warm_up_mode mode : {warm_up_mode::full, warm_up_mode::lazy}) {
    const net::testing::captured_log log;
    small_memory memory;
    memory.takes = [](const device_batch& batch) { return batch.sequences.size() == 4 ? 99 : 0; };
    company_setup setup = memory.setup();
    setup.warm_up = mode;
    stage stage(setup);
    expect_warm(stage, 48);
    EXPECT_EQ(memory.caches, (std::vector<std::int32_t>{60, 56, 52, 48}));
    EXPECT_EQ(log.count("failed and is left out"), 1U);
    EXPECT_FALSE(memory.is_disturbed);
  }
}

TEST(WarmUpShortage, OfAnyStepMakesTheKvCacheSmaller) {
  for (const bool of_prompts : {false, true}) {
    small_memory memory{.beside_cache = 1};
    memory.takes = [of_prompts](const device_batch& batch) {
      return is_decode(batch) != of_prompts && batch.needs_graph ? 2 : 0;
    };
    company_setup setup = memory.setup({});
    stage stage(setup);
    expect_warm(stage, 60);
  }
}

TEST(WarmUpShortage, LeavesRoomForTheLongestContext) {
  small_memory memory;
  memory.takes = [](const device_batch& batch) { return wants_graph(batch) ? 99 : 0; };
  company_setup setup = memory.setup();
  setup.max_model_len = 4 * 58 + 1;  // and what comes in pieces of 16 tokens
  stage stage(setup);
  expect_ready_with(stage, 60);
  EXPECT_EQ(memory.caches, (std::vector<std::int32_t>{60}));
}

// Its device has all of its memory again.
TEST(WarmUpShortage, IsKnownToTheNextRunner) {
  small_memory memory{.beside_cache = 1};
  stage stage(memory.setup());
  expect_ready_with(stage, 60);
  memory.caches.clear();
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(memory.caches, std::vector<std::int32_t>{60}) << "before anything is asked of it";
  expect_ready_with(stage, 60);
  EXPECT_EQ(memory.caches.size(), 1U);
}

TEST(WarmUpShortage, WithoutMemoryForTheSmallerCacheEitherIsTheEndOfThatDeviceAlone) {
  small_memory memory{.beside_cache = 1, .is_next_cache_refused = true};
  stage stage(memory.setup());
  stage.run();
  stage.advance(stage::runner_settles);
  expect_ready_with(stage, 60);
  EXPECT_FALSE(memory.is_next_cache_refused);
  EXPECT_EQ(memory.opened, 2);
}

// Another device is opened then, which has it all.
TEST(WarmUpShortage, EndsADeviceWhoseNextCacheDoesNotHoldTheLongestContext) {
  small_memory memory{.beside_cache = 1, .most_of_next_cache = 10};
  stage stage(memory.setup());
  stage.run();
  stage.advance(stage::runner_settles);
  expect_ready_with(stage, 60);
  EXPECT_EQ(memory.caches, (std::vector<std::int32_t>{10, 60}));
  EXPECT_EQ(memory.opened, 2);
}

// It has had no more to give, so that is what it may give a quarter of.
TEST(WarmUpShortage, CountsFromWhatTheDeviceCouldGive) {
  small_memory memory{.beside_cache = 1, .most_of_next_cache = 50};
  memory.takes = [](const device_batch& batch) {
    return wants_graph(batch) && batch.num_rows() == 4 ? 99 : 0;
  };
  company_setup setup = memory.setup();
  stage stage(setup);
  expect_ready_with(stage, 38);
  EXPECT_EQ(memory.caches, (std::vector<std::int32_t>{50, 47, 44, 41, 38}));
}

// With drafts the warm-up goes on while requests run.
TEST(WarmUpShortage, WhileItServesCostsNobodyAToken) {
  small_memory memory{.beside_cache = 1};
  int shortages = 1;
  memory.takes = [&shortages](const device_batch& batch) {
    return batch.needs_graph && batch.num_rows() == 2 && shortages-- > 0 ? 99 : 0;
  };
  company_setup setup = memory.setup();
  setup.warm_up = warm_up_mode::lazy;
  add_drafts(setup);
  stage stage(setup);
  while (!stage.status().ready && stage.run(1) > 0) {
  }
  ASSERT_TRUE(stage.status().ready);
  const std::string prompt = "a prompt of some blocks, which are stored";
  const auto running = stage.ask(prompt, 80);
  while (running->tokens.size() < 3) ASSERT_GT(stage.run(1), 0U);
  while (memory.caches.empty() && running->ends.empty()) {
    stage.advance(std::chrono::milliseconds(20));
    stage.run(5);
  }
  ASSERT_TRUE(running->ends.empty()) << "it runs while the cache shrinks";
  EXPECT_EQ(memory.caches, std::vector<std::int32_t>{60});
  const double hits = stage.metric("vllm:prefix_cache_hits_total");
  stage.run();
  ASSERT_EQ(running->ends.size(), 1U);
  EXPECT_EQ(running->tokens.size(), 80U);
  expect_alphabet(*running);
  EXPECT_EQ(stage.metric("vllm:prefix_cache_hits_total"), hits) << "nothing is stored any more";
  expect_warm(stage, 60);
}

// Requests come and go, runners are killed, somebody else takes memory of the device.
TEST(WarmUpShortage, AtAnyMomentOfAnyLoadLosesNoRequest) {
  const auto [first, count] = seeds_to_run(60);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    small_memory memory{.beside_cache = static_cast<std::int32_t>(random() % 4)};
    memory.takes = [&random](const device_batch& batch) {
      return wants_graph(batch) ? static_cast<std::int32_t>(random() % 6) : 0;
    };
    company_setup setup = memory.setup();
    setup.warm_up = random() % 2 == 0 ? warm_up_mode::full : warm_up_mode::lazy;
    stage stage(setup);
    std::vector<std::shared_ptr<client>> clients;
    for (int turn = 0; turn < 30; ++turn) {
      if (random() % 3 == 0 && stage.status().ready)
        clients.push_back(
            stage.ask(std::string(1 + random() % 40, 'p'), 1 + static_cast<std::int32_t>(random() % 20)));
      if (turn % 15 == 14 && stage.roster().model_runner) stage.kill(stage.roster().model_runner);
      if (turn == 5) memory.is_next_cache_refused = random() % 2 == 0;
      if (turn == 9) memory.most_of_next_cache = 30 + static_cast<std::int32_t>(random() % 30);
      if (random() % 2 == 0) stage.advance(std::chrono::milliseconds(random() % 1500));
      stage.run(random() % 60);
    }
    stage.run();
    stage.expect_served(stage::runner_settles);
    for (const auto& who : clients) {
      ASSERT_EQ(who->ends.size(), 1U);
      EXPECT_EQ(who->ends[0].reason, finish_reason::length);
      expect_alphabet(*who);
    }
    EXPECT_FALSE(memory.is_out_of_bounds || memory.is_disturbed);
    EXPECT_GE(stage.roster().num_blocks, 32) << "as many as the longest context needs";
    stage.expect_idle();
  }
}

}  // namespace
}  // namespace troupe::test
