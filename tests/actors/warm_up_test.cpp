// The warm-up as the actors do it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/actors/company_fixture.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

constexpr std::int32_t tokens_per_block = 4;

// Prompts of 8, 16 and 32 tokens, decodes of 1, 2, 4 and 8 sequences; 8 or 32 blocks of context.
bucket_plan small_plan() {
  bucketing_options options;
  options.prompt.query = {.min = 8, .step = 8, .max = 32, .limit = 3};
  options.prompt.blocks = {.max = 0};
  options.decode.blocks = {.min = 8, .step = 8, .max = 32, .limit = 2};
  const auto plan = make_buckets(options, {8, 32, tokens_per_block, 128, 64});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.value_or(bucket_plan{});
}

bool is_scratch(const device_batch& batch, std::int32_t num_blocks) {
  return !batch.block_tables.empty() && batch.block_tables.front() == num_blocks;
}

// What the scratch steps were, in their order: (sequences, rows).
struct watched {
  std::vector<std::pair<std::size_t, std::int32_t>> scratch;
  company_setup setup(warm_up_mode mode) {
    company_setup out;
    out.buckets = small_plan();
    out.warm_up = mode;
    out.before_step = [this](const device_batch& batch) {
      if (is_scratch(batch, 64)) scratch.emplace_back(batch.sequences.size(), batch.num_rows());
    };
    return out;
  }
};

void pass(stage& on, milliseconds time) {
  for (; time.count() > 0; time -= milliseconds(100)) {
    on.advance(milliseconds(100));
    on.run();
  }
}

const char* const executions = "troupe_bucket_executions_total";

TEST(WarmUp, RunsEveryBucketOfAFullOneBeforeTheFirstRequest) {
  watched seen;
  stage stage(seen.setup(warm_up_mode::full));
  EXPECT_TRUE(stage.status().ready);
  // 3 prompts, 4 x 2 decodes; the sampler's sizes 0, 1, 2, 4, 8 run no forward pass.
  EXPECT_EQ(seen.scratch.size(), 11U);
  EXPECT_EQ(stage.board().wait_news(0).progress.size(), 11U + 5U);
  EXPECT_TRUE(std::is_sorted(seen.scratch.begin(), seen.scratch.begin() + 3, std::greater<>()));
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
  stage.expect_idle();
}

TEST(WarmUp, RunsEveryNumberOfRowsBeforeTheFirstRequestWhereThatIsAskedFor) {
  watched seen;
  stage stage(seen.setup(warm_up_mode::rows));
  EXPECT_TRUE(stage.status().ready);
  EXPECT_EQ(seen.scratch, (std::vector<std::pair<std::size_t, std::int32_t>>{
                              {1, 32}, {1, 16}, {1, 8}, {8, 8}, {4, 4}, {2, 2}, {1, 1}}));
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
  stage.expect_served(stage::runner_settles);
}

TEST(WarmUp, ServesALazyOneAfterOnePrefillAndOneDecode) {
  watched seen;
  stage stage(seen.setup(warm_up_mode::lazy));
  EXPECT_TRUE(stage.status().ready);
  ASSERT_GE(seen.scratch.size(), 2U);
  EXPECT_EQ(seen.scratch[0], (std::pair<std::size_t, std::int32_t>{1, 32}));
  EXPECT_EQ(seen.scratch[1], (std::pair<std::size_t, std::int32_t>{8, 8}));
  EXPECT_EQ(stage.board().wait_news(0).progress.size(), 2U);
  pass(stage, milliseconds(2500));
  EXPECT_EQ(seen.scratch.size(), 7U) << "one step of every number of rows, once nothing has run for a while";
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
}

// They are gone with the device that captured them.
TEST(WarmUp, RunsWhatIsCapturedAgainWhereTheRunnerIsAnotherOne) {
  watched seen;
  company_setup setup = seen.setup(warm_up_mode::full);
  setup.buckets = {};
  setup.adjust = [](supervisor_parts& parts) { parts.steps.graphs = {1, 2}; };
  stage stage(setup);
  EXPECT_TRUE(stage.status().ready);
  const std::vector<std::pair<std::size_t, std::int32_t>> at_first = std::exchange(seen.scratch, {});
  stage.kill(stage.roster().model_runner);
  stage.run();
  pass(stage, milliseconds(1000));
  EXPECT_TRUE(stage.status().ready);
  EXPECT_TRUE(seen.scratch.empty()) << "while somebody may ask again";
  pass(stage, milliseconds(4000));
  EXPECT_EQ(seen.scratch,
            (std::vector<std::pair<std::size_t, std::int32_t>>{at_first.end() - 3, at_first.end()}));
  EXPECT_EQ(seen.scratch.front().first, 2U) << "the larger graph";
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
  stage.expect_served(stage::runner_settles);
}

// Who asks waits for the step of the warm-up that runs, and at the start somebody has waited already.
TEST(WarmUp, LeavesALazyOneUntilNothingHasRunForAWhile) {
  watched seen;
  stage stage(seen.setup(warm_up_mode::lazy));
  for (int i = 0; i < 6; ++i) {
    pass(stage, milliseconds(1500));
    const auto who = stage.ask("hello", 3);
    stage.run();
    EXPECT_EQ(who->ends.size(), 1U);
  }
  EXPECT_EQ(seen.scratch.size(), 2U) << "somebody asks every second and a half";
  EXPECT_LT(stage.metric("troupe_warmup_progress"), 1.0);
  pass(stage, milliseconds(2500));
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
}

// Nothing is drafted before that is known.
TEST(WarmUp, MeasuresWhatDraftsCostAtOnceWhereNothingRuns) {
  watched seen;
  company_setup setup = seen.setup(warm_up_mode::lazy);
  add_drafts(setup);
  stage stage(setup);
  EXPECT_GT(stage.messages_of("scheduler", "step_cost"), 0);
  EXPECT_LT(stage.metric("troupe_warmup_progress"), 1.0);
}

TEST(WarmUp, LeavesOutNothingButItselfWhereItIsSkipped) {
  watched seen;
  stage stage(seen.setup(warm_up_mode::skip));
  EXPECT_TRUE(stage.status().ready);
  EXPECT_TRUE(seen.scratch.empty());
  EXPECT_EQ(stage.metric("troupe_warmup_progress"), 1.0);
  const auto who = stage.ask("hello", 3);
  stage.run();
  EXPECT_EQ(who->tokens.size(), 3U);
}

void expect_next_larger_bucket(stage& stage) {
  const auto who = stage.ask("hello", 2);  // 5 tokens: (1, 8, 0), were it there
  stage.run();
  EXPECT_EQ(who->tokens.size(), 2U);
  EXPECT_EQ(stage.metric(executions, {{"bucket", "(1, 8, 0)"}}), 0);
  EXPECT_EQ(stage.metric(executions, {{"bucket", "(1, 16, 0)"}}), 1);
}

TEST(WarmUp, LeavesOutABucketThatFails) {
  company_setup setup;
  setup.buckets = small_plan();
  setup.warm_up = warm_up_mode::full;
  setup.before_step = [](const device_batch& batch) {
    if (is_scratch(batch, 64) && batch.num_rows() == 8 && batch.sequences.size() == 1)
      throw std::runtime_error("no memory for this graph");
  };
  stage stage(setup);
  EXPECT_TRUE(stage.status().ready && stage.status().live);
  expect_next_larger_bucket(stage);
}

TEST(WarmUp, LeavesOutABucketThatEndsTheRunnerTwiceForTheNextRunnerToo) {
  company_setup setup;
  setup.buckets = small_plan();
  setup.warm_up = warm_up_mode::full;
  int ends = 0;
  setup.before_step = [&ends](const device_batch& batch) {
    if (!is_scratch(batch, 64) || batch.num_rows() != 8 || batch.sequences.size() != 1) return;
    ++ends;
    throw device_lost("its kernel ends the process");
  };
  stage stage(setup);
  stage.run();
  EXPECT_EQ(ends, 2);
  ASSERT_TRUE(stage.status().ready && stage.status().live);
  expect_next_larger_bucket(stage);
}

TEST(WarmUp, ChangesNoTokenInWhateverWayItIsDone) {
  std::vector<std::vector<token_id>> all;
  for (const auto mode : {warm_up_mode::skip, warm_up_mode::lazy, warm_up_mode::full}) {
    for (const bool pad : {false, true}) {
      watched seen;
      company_setup setup = seen.setup(mode);
      setup.pad_to_buckets = pad;
      stage stage(setup);
      const auto one = stage.ask("hello", 9);
      const auto two = stage.ask("a longer prompt than that of before, in chunks", 12);
      stage.run();
      all.push_back(one->tokens);
      all.back().insert(all.back().end(), two->tokens.begin(), two->tokens.end());
      EXPECT_EQ(stage.metric("troupe_bucket_padding_tokens_total") > 0, pad);
      EXPECT_GT(stage.metric("troupe_bucket_executions_total"), 0);
      stage.expect_idle();
    }
  }
  EXPECT_EQ(all[0].size(), 21U);
  for (const auto& tokens : all) EXPECT_EQ(tokens, all[0]);
}

TEST(Buckets, CountAStepBeyondEveryOneAndRunIt) {
  watched seen;
  company_setup setup = seen.setup(warm_up_mode::skip);
  setup.pad_to_buckets = true;
  stage stage(setup);
  // The first runs alone, the others together: the prompts' batch size is 1.
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("prompt", 3));
  stage.run();
  for (const auto& who : clients) EXPECT_EQ(who->tokens.size(), 3U);
  EXPECT_GT(stage.metric("troupe_bucket_fallbacks_total"), 0);
  stage.expect_idle();
}

// More shapes than are warned of at once: those left out are warned of when they come again.
TEST(Buckets, WarnOfEveryShapeBeyondThemOnce) {
  const net::testing::captured_log log;
  watched seen;
  company_setup setup = seen.setup(warm_up_mode::skip);
  setup.pad_to_buckets = true;
  setup.enable_prefix_caching = false;
  stage stage(setup);
  constexpr std::size_t shapes = 8;
  const auto ask_all = [&stage] {
    for (std::size_t i = 0; i < shapes; ++i) {
      stage.ask(std::string(40 + i, 'x'), 1);
      stage.run();
    }
  };
  std::set<std::string> warned;
  std::size_t lines = 0;
  for (int round = 0; round < 6; ++round) {
    ask_all();
    stage.advance(std::chrono::seconds(60));
  }
  for (const std::string& line : log.lines()) {
    if (line.find("a prompt of shape") == std::string::npos) continue;
    ++lines;
    warned.insert(line.substr(0, line.find(" is beyond")));
  }
  EXPECT_EQ(warned.size(), shapes);
  EXPECT_EQ(lines, shapes);
}

// Drafts that wait for a measurement which is never taken.
TEST(WarmUpActors, ThatIsLeftOutIsWarnedOfWhereDraftsNeedIt) {
  struct start {
    warm_up_mode mode;
    bool drafts, adaptive, warns;
  };
  const std::vector<start> starts = {{warm_up_mode::skip, true, true, true},
                                     {warm_up_mode::skip, true, false, false},
                                     {warm_up_mode::skip, false, true, false},
                                     {warm_up_mode::lazy, true, true, false}};
  for (const start& each : starts) {
    const net::testing::captured_log log;
    company_setup setup;
    setup.warm_up = each.mode;
    setup.adjust = [&each](supervisor_parts& parts) {
      if (!each.drafts) return;
      parts.drafts.emplace();
      parts.drafts->config.adaptive = each.adaptive;
    };
    stage stage(setup);
    stage.run();
    const auto lines = log.lines();
    const auto is_warning = [](const std::string& line) {
      return line.starts_with("warning nothing will be drafted") &&
             line.find("--skip-warmup") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::count_if(lines, is_warning), each.warns ? 1 : 0);
  }
}

// How often it warns of drafts, of steps that fail as often as said, the least first.
std::size_t warnings_of_drafts(std::int32_t rows, int failures, const std::string& text) {
  const net::testing::captured_log log;
  company_setup setup;
  setup.warm_up = warm_up_mode::full;
  add_drafts(setup);
  setup.before_step = [&failures, rows](const device_batch& batch) {
    const bool is_verification = batch.samples.size() == static_cast<std::size_t>(batch.num_rows());
    if (!is_scratch(batch, 64) || !is_verification || batch.sequences.size() != 1) return;
    if (batch.num_rows() == rows && failures-- > 0) throw std::runtime_error("no step of so many rows");
  };
  stage stage(setup);
  stage.run();
  EXPECT_TRUE(stage.status().ready);
  stage.kill(stage.roster().model_runner);
  stage.expect_served(stage::runner_settles);
  const auto lines = log.lines();
  return static_cast<std::size_t>(std::ranges::count_if(lines, [&text](const std::string& line) {
    return line.starts_with("warning " + text) && line.find("\"adaptive\": false") != line.npos;
  }));
}

TEST(WarmUpActors, WarnsOnceWhereWhatDraftsCostIsNotKnown) {
  constexpr int always = 1000;
  EXPECT_EQ(warnings_of_drafts(1, always, "nothing will be drafted"), 1U);
  EXPECT_EQ(warnings_of_drafts(1, 1, "nothing will be drafted"), 0U) << "it is timed twice";
  EXPECT_EQ(warnings_of_drafts(2, always, ""), 0U) << "what lies between others is guessed";
  EXPECT_EQ(warnings_of_drafts(32, always, "steps of more than 16 rows will verify no drafts"), 1U);
  EXPECT_EQ(warnings_of_drafts(0, always, ""), 0U);
}

}  // namespace
}  // namespace troupe::test
