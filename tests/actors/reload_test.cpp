// New limits for a company that is at work, message by message.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
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

// A limit outside of its range, by its name.
struct odd_limit {
  const char* name;
  void (*change)(company_limits& limits);
};
constexpr odd_limit odd_limits[] = {
    {"max_num_seqs", [](company_limits& l) { l.scheduling.max_num_seqs = 0; }},
    {"max_num_seqs", [](company_limits& l) { l.scheduling.max_num_seqs = -5; }},
    {"max_num_batched_tokens", [](company_limits& l) { l.scheduling.max_num_batched_tokens = 0; }},
    {"max_num_batched_tokens", [](company_limits& l) { l.scheduling.max_num_batched_tokens = -1; }},
    {"max_steps_in_flight", [](company_limits& l) { l.scheduling.max_steps_in_flight = 0; }},
    {"max_steps_in_flight", [](company_limits& l) { l.scheduling.max_steps_in_flight = 33; }},
    {"scheduling_policy", [](company_limits& l) { l.scheduling.policy = scheduling_policy{99}; }},
    {"priority_patience", [](company_limits& l) { l.scheduling.priority_patience = -1; }},
    {"long_prefill_token_threshold",
     [](company_limits& l) { l.scheduling.long_prefill_token_threshold = -1; }},
    {"max_num_partial_prefills", [](company_limits& l) { l.scheduling.max_num_partial_prefills = 0; }},
    {"long_prefill_share", [](company_limits& l) { l.scheduling.long_prefill_share = 0; }},
    {"long_prefill_share", [](company_limits& l) { l.scheduling.long_prefill_share = 1.5; }},
    {"watermark", [](company_limits& l) { l.scheduling.watermark = 5; }},
    {"watermark", [](company_limits& l) { l.scheduling.watermark = -5; }},
    {"watermark",
     [](company_limits& l) { l.scheduling.watermark = std::numeric_limits<double>::quiet_NaN(); }},
    {"request_timeout", [](company_limits& l) { l.request_timeout = std::chrono::seconds(-1); }},
    {"queue_timeout", [](company_limits& l) { l.queue_timeout = std::chrono::seconds(-1); }},
    {"step_deadline", [](company_limits& l) { l.step_deadline = std::chrono::seconds(0); }},
    {"step_deadline", [](company_limits& l) { l.step_deadline = std::chrono::seconds(-1); }},
    {"max_connections", [](company_limits& l) { l.connections.max_connections = 0; }},
    {"max_body_bytes", [](company_limits& l) { l.connections.max_body_bytes = 0; }},
    {"max_stream_buffer_bytes", [](company_limits& l) { l.connections.max_stream_buffer_bytes = 0; }},
    {"header_timeout", [](company_limits& l) { l.connections.header_timeout = std::chrono::seconds(0); }},
    {"read_timeout", [](company_limits& l) { l.connections.read_timeout = std::chrono::seconds(-1); }},
    {"write_timeout", [](company_limits& l) { l.connections.write_timeout = std::chrono::seconds(0); }},
    {"idle_timeout", [](company_limits& l) { l.connections.idle_timeout = std::chrono::seconds(0); }},
};

TEST(Reload, ALimitByWhichNobodyCouldBeServedIsRefusedByItsName) {
  company_setup setup;
  stage stage(setup);
  for (const odd_limit& odd : odd_limits) {
    company_limits limits = limits_of(setup);
    odd.change(limits);
    const auto outcome = reload(stage, limits);
    ASSERT_TRUE(outcome && !*outcome) << odd.name;
    EXPECT_EQ(outcome->error().code, error_code::invalid_argument);
    EXPECT_EQ(outcome->error().param, odd.name);
    EXPECT_TRUE(outcome->error().message.starts_with(std::string(odd.name) + " must be "));
    const auto who = stage.ask("hello", 3);
    stage.run();
    EXPECT_EQ(who->text, "fgh") << odd.name;
  }
  stage.expect_idle();
}

TEST(CheckLimits, TheEndsOfTheRangesAreWithin) {
  company_limits limits;
  EXPECT_TRUE(check_limits(limits));
  limits.scheduling = {.max_num_seqs = 1,
                       .max_num_batched_tokens = 1,
                       .max_steps_in_flight = 32,
                       .policy = scheduling_policy::drr,
                       .priority_patience = 0,
                       .max_num_partial_prefills = 1,
                       .long_prefill_share = 0.001,
                       .watermark = 0.5};
  limits.step_deadline = std::chrono::milliseconds(100);
  EXPECT_TRUE(check_limits(limits));
  limits.request_timeout = limits.queue_timeout = limits.step_deadline = std::chrono::nanoseconds::max();
  EXPECT_TRUE(check_limits(limits)) << "no end";
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
