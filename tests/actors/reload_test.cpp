// New limits for a company that is at work, message by message.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

company_limits limits_of(const company_setup& setup) {
  company_limits limits;
  limits.scheduling.max_num_seqs = setup.max_num_seqs;
  limits.scheduling.max_num_batched_tokens = setup.max_num_batched_tokens;
  limits.scheduling.max_num_queued_requests = setup.max_num_queued_requests;
  return limits;
}

// Handles no more than the supervisor's own message, or everything.
std::optional<result<void>> reload(stage& stage, const company_limits& limits, bool to_the_end = true) {
  std::optional<result<void>> outcome;
  auto call = std::make_shared<reload_call>([&](result<void> told) { outcome = std::move(told); },
                                            fail(error_code::unavailable, "nobody"));
  caf::anon_send(stage.supervisor(), msg::reload{}, std::make_shared<const company_limits>(limits),
                 std::move(call));
  while (!outcome && stage.run(1) == 1) {
  }
  if (to_the_end) stage.run();
  return outcome;
}

// The most sequences that a step had, while it lives.
struct widest_step {
  std::size_t sequences = 0;
  void operator()(const device_batch& batch) {
    const bool is_warm_up = batch.step == 0;
    if (!is_warm_up) sequences = std::max(sequences, batch.sequences.size());
  }
};

TEST(Reload, RequestsGoOnAndTheNextStepsKeepToTheNewLimits) {
  widest_step widest;
  company_setup setup{.before_step = [&](const device_batch& batch) { widest(batch); }};
  stage stage(setup);
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(stage.ask("hello", 30));
  stage.run(200);
  EXPECT_EQ(widest.sequences, 8U);
  company_limits limits = limits_of(setup);
  limits.scheduling.max_num_seqs = 2;
  const auto outcome = reload(stage, limits);
  ASSERT_TRUE(outcome && *outcome);
  std::string expected;
  for (int i = 0; i < 30; ++i) expected += static_cast<char>('a' + (5 + i) % 26);
  for (const auto& who : clients) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].reason, finish_reason::length);
    EXPECT_EQ(who->text, expected);
  }
  widest.sequences = 0;
  for (int i = 0; i < 8; ++i) stage.ask("hello", 10);
  stage.run();
  EXPECT_EQ(widest.sequences, 2U);
  stage.expect_idle();
}

TEST(Reload, WhatTheDeviceWasNotMadeForIsRefusedAsAWhole) {
  widest_step widest;
  company_setup setup{.max_num_seqs = 3, .before_step = [&](const device_batch& batch) { widest(batch); }};
  stage stage(setup);
  company_limits limits = limits_of(setup);
  limits.scheduling.max_num_seqs = 1;
  limits.scheduling.max_num_batched_tokens = setup.max_num_batched_tokens + 1;
  limits.request_timeout = std::chrono::seconds(1);
  const auto outcome = reload(stage, limits);
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().param, "max_num_batched_tokens");
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("hello", 10));
  stage.run(150);
  stage.advance(std::chrono::seconds(5));
  stage.run();
  EXPECT_EQ(widest.sequences, 3U);
  for (const auto& who : clients) EXPECT_EQ(who->ends.at(0).reason, finish_reason::length);
  stage.expect_idle();
}

TEST(Reload, WhatWasLoweredMayBeRaisedAgainUpToTheStart) {
  company_setup setup{.max_num_seqs = 6};
  stage stage(setup);
  company_limits limits = limits_of(setup);
  for (const auto& [seqs, is_taken] : {std::pair{2, true}, {6, true}, {7, false}}) {
    limits.scheduling.max_num_seqs = seqs;
    const auto outcome = reload(stage, limits);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->has_value(), is_taken) << seqs;
  }
}

TEST(Reload, ASchedulerThatIsStartedAnewHasTheNewLimits) {
  widest_step widest;
  company_setup setup{.before_step = [&](const device_batch& batch) { widest(batch); }};
  stage stage(setup);
  company_limits limits = limits_of(setup);
  limits.scheduling.max_num_seqs = 3;
  ASSERT_TRUE(*reload(stage, limits));
  stage.kill(stage.roster().scheduler);
  stage.run();
  for (int i = 0; i < 8; ++i) stage.ask("hello", 10);
  stage.run();
  EXPECT_EQ(widest.sequences, 3U);
  stage.expect_idle();
}

TEST(Reload, TimeoutsAreThoseOfTheRequestsToCome) {
  company_setup setup{.max_num_seqs = 1};
  stage stage(setup);
  company_limits limits = limits_of(setup);
  limits.request_timeout = std::chrono::seconds(5);
  const auto before = stage.ask("hello", 100);
  stage.run(30);
  ASSERT_TRUE(*reload(stage, limits, false));
  const auto after = stage.ask("hello", 100);
  stage.run(60);
  stage.advance(std::chrono::seconds(6));
  stage.run();
  EXPECT_EQ(before->ends.at(0).reason, finish_reason::length);
  EXPECT_EQ(after->ends.at(0).reason, finish_reason::timeout);
}

TEST(Reload, AStepsDeadlineIsTheNewOne) {
  company_setup setup;
  stage stage(setup);
  company_limits limits = limits_of(setup);
  limits.step_deadline = std::chrono::seconds(7);
  ASSERT_TRUE(*reload(stage, limits));
  stage.board().step_started(stage.now(), 1);
  EXPECT_TRUE(stage.board().status(stage.now() + std::chrono::seconds(6)).live);
  EXPECT_FALSE(stage.board().status(stage.now() + std::chrono::seconds(8)).live);
  stage.board().step_ended();
}

TEST(Reload, ACompanyThatEndsTakesNoLimitsAnyMore) {
  company_setup setup;
  stage stage(setup);
  caf::anon_send(stage.supervisor(), msg::drain_company{std::chrono::seconds(10)});
  stage.run();
  const auto outcome = reload(stage, limits_of(setup));
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().code, error_code::unavailable);
}

TEST(CheckLimits, WithoutChunkedPrefillAStepStillHoldsTheLongestContext) {
  scheduler_limits at_start{.max_num_batched_tokens = 200, .max_model_len = 100};
  scheduler_limits wanted{.max_num_batched_tokens = 99};
  EXPECT_TRUE(check_limits(at_start, wanted));
  at_start.enable_chunked_prefill = false;
  ASSERT_FALSE(check_limits(at_start, wanted));
  EXPECT_EQ(check_limits(at_start, wanted).error().param, "max_num_batched_tokens");
  wanted.max_num_batched_tokens = 100;
  EXPECT_TRUE(check_limits(at_start, wanted));
}

}  // namespace
}  // namespace troupe::test
