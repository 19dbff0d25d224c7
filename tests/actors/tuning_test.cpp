// Tuning while nothing runs: who it waits for, and what a stop leaves of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "actors/start/kept_tuning.hpp"
#include "actors/start/load_engine.hpp"
#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/cpu/tuning_file.hpp"
#include "runtime/model/model.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

class Tuning : public testing::Test {
 protected:
  Tuning() { std::filesystem::remove(file_); }
  ~Tuning() override { std::filesystem::remove(file_); }

  static std::unique_ptr<executor> device() {
    const temporary_file model(tiny_model());
    cpu_executor_options cpu;
    cpu.limits = {
        .max_rows = 64, .max_sequences = 8, .block_size = 16, .kv_cache_bytes = std::size_t{4} << 20U};
    cpu.threads = 1;
    cpu.end_tokens = {end_token};
    return std::move(*make_cpu_executor(*load_model(model.path()), cpu));
  }

  company_setup setup() const {
    company_setup out;
    out.max_num_batched_tokens = 64;
    out.max_model_len = 256;
    out.warm_up = warm_up_mode::lazy;
    out.buckets.decode = {{1, 1, 4}, {2, 1, 4}, {4, 1, 4}, {8, 1, 4}};
    out.buckets.prompt = {{1, 64, 0}};
    out.adjust = [file = file_](supervisor_parts& parts) {
      parts.device.target = device();
      parts.steps.tuned_for = tuning_key_of(*parts.device.target, 1);
      parts.steps.tuning_file = file;
      parts.steps.tune = true;
      if (use_kept_tuning(*parts.device.target, parts.steps.tuned_for, file))
        for (const auto& [rows, plan] : parts.device.target->plans()->chosen())
          parts.steps.tuned.insert(rows);
    };
    return out;
  }

  // Whose plans the file has.
  std::set<std::int32_t> kept() const {
    std::set<std::int32_t> rows;
    const auto target = device();
    if (const auto plans = read_tuning_file(file_, tuning_key_of(*target, 1)))
      for (const auto& [count, plan] : *plans) rows.insert(count);
    return rows;
  }

  static void pass(stage& on, milliseconds time) {
    for (; time.count() > 0; time -= milliseconds(100)) {
      on.advance(milliseconds(100));
      on.run();
    }
  }

  const std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) / ("tuning-size-by-size-" + std::to_string(::getpid()));
};

TEST_F(Tuning, BeginsWithTheSmallestStepsOnceNothingHasRunForAWhile) {
  stage stage(setup());
  for (int i = 0; i < 8; ++i) {
    pass(stage, milliseconds(1000));
    const auto who = stage.ask("hello", 3);
    stage.run();
    EXPECT_EQ(who->ends.size(), 1U);
  }
  EXPECT_TRUE(kept().empty()) << "somebody asks every second";
  pass(stage, milliseconds(2500));
  for (int i = 0; i < 1000 && kept().empty(); ++i) pass(stage, milliseconds(100));
  ASSERT_FALSE(kept().empty());
  EXPECT_EQ(*kept().begin(), 1);
}

// Until what they cost is known nothing is drafted; a service that is never idle must not wait for that.
TEST_F(Tuning, DoesNotKeepWhatDraftsCostFromBeingMeasuredWhileRequestsRun) {
  company_setup drafting = setup();
  add_drafts(drafting);
  stage busy(drafting);
  const auto costs = [&busy] { return busy.messages_of("scheduler", "step_cost"); };
  const double at_start = costs();  // they are measured again behind the tuning, which waits for quiet
  // How many steps an answer takes depends on what drafts cost here: the next request comes before it ends.
  const auto first = busy.ask("hello", 200);
  auto newest = first;
  double after_second = 0;
  for (int i = 0; i < 400 && (first->ends.empty() || costs() < at_start + 3); ++i) {
    if (newest->tokens.size() >= 100) newest = busy.ask("hello", 200);
    busy.advance(milliseconds(100));
    busy.run(12);
    if (i == 9) after_second = costs();
  }
  EXPECT_LE(after_second, at_start + 4) << "four a second at most";
  EXPECT_GE(costs(), at_start + 3);
  busy.run();
  stage quiet(setup());
  const auto alone = quiet.ask("hello", 200);
  quiet.run();
  EXPECT_EQ(first->tokens.size(), 200U);
  EXPECT_EQ(alone->tokens.size(), 200U);
  EXPECT_EQ(first->tokens, alone->tokens);
}

TEST_F(Tuning, GoesOnWhereAStopHasLeftIt) {
  {
    company_setup first = setup();
    std::erase_if(first.buckets.decode, [](const bucket& each) { return each.batch > 2; });
    stage stage(first);
    pass(stage, milliseconds(3000));
    for (int i = 0; i < 1000 && !kept().contains(64); ++i) pass(stage, milliseconds(100));
  }
  ASSERT_EQ(kept(), (std::set<std::int32_t>{1, 2, 64}));
  const auto before = std::filesystem::last_write_time(file_);
  {
    stage stage(setup());
    pass(stage, milliseconds(3000));
    for (int i = 0; i < 1000 && !kept().contains(8); ++i) pass(stage, milliseconds(100));
  }
  EXPECT_EQ(kept(), (std::set<std::int32_t>{1, 2, 4, 8, 64}));
  const auto after = std::filesystem::last_write_time(file_);
  EXPECT_LT(before, after);
  {
    stage stage(setup());
    pass(stage, milliseconds(10000));
  }
  EXPECT_EQ(std::filesystem::last_write_time(file_), after) << "nothing is left to be timed";
}

}  // namespace
}  // namespace troupe::test
