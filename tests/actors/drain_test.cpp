// Companies that come to an orderly end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/generation_request.hpp"
#include "tests/actors/company_members_fixture.hpp"
#include "tests/actors/drafter/drafting_fixture.hpp"

namespace troupe::test {
namespace {

auto ask_to_drain(caf::scoped_actor& self, stage& company) {
  return self->request(company.supervisor(), caf::infinite, msg::drain_company{std::chrono::seconds(10)});
}

template <class Answer>
void expect_outcome(Answer& answer, drain_outcome expected) {
  answer.receive([expected](const msg::company_drained& drained) { EXPECT_EQ(drained.outcome, expected); },
                 [](const caf::error& why) { FAIL() << caf::to_string(why); });
}

// With what it has, or refused where that is nothing.
void expect_cut_off(const client& who) {
  ASSERT_EQ(who.ends.size(), 1U);
  if (!who.tokens.empty()) {
    EXPECT_EQ(who.ends[0].reason, finish_reason::abort);
    return;
  }
  EXPECT_EQ(who.ends[0].reason, finish_reason::error);
  ASSERT_TRUE(who.ends[0].failure);
  EXPECT_EQ(who.ends[0].failure->code, error_code::unavailable);
}

TEST(Drain, LetsOpenRequestsFinishAndRefusesNewOnes) {
  stage stage;
  const auto open = stage.ask("hello", 9);
  stage.run(6);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run(4);  // until the gateway has heard of it
  const auto late = stage.ask("hello", 9);
  stage.run();
  expect_outcome(answer, drain_outcome::complete);
  ASSERT_EQ(open->ends.size(), 1U);
  EXPECT_EQ(open->ends[0].reason, finish_reason::length);
  ASSERT_EQ(late->ends.size(), 1U);
  ASSERT_TRUE(late->ends[0].failure);
  EXPECT_EQ(late->ends[0].failure->code, error_code::unavailable);
  EXPECT_FALSE(stage.status().ready);
  EXPECT_TRUE(stage.status().live);
  stage.expect_idle(1);
}

// However far they have come: a gateway has them, a tokenizer does, or they are being computed.
TEST(Drain, ServesWhomeverAGatewayHadBefore) {
  for (int ahead = 0; ahead < 8; ++ahead) {
    SCOPED_TRACE(ahead);
    stage stage;
    caf::scoped_actor self{stage.system()};
    const auto before = stage.ask("hello", 9);
    stage.run(ahead);
    auto answer = ask_to_drain(self, stage);
    const auto just_before = stage.ask("hello", 9);  // the supervisor has not heard of the end yet
    stage.run();
    expect_outcome(answer, drain_outcome::complete);
    for (const auto& client : {before, just_before}) {
      ASSERT_EQ(client->ends.size(), 1U);
      EXPECT_EQ(client->ends[0].reason, finish_reason::length);
    }
    stage.expect_idle(2);
  }
}

// Those too that are with no tokenizer yet when it comes.
TEST(Drain, AbortsEverybodyWhereNobodyWantsToWait) {
  for (int ahead = 0; ahead < 8; ++ahead) {
    SCOPED_TRACE(ahead);
    stage stage;
    caf::scoped_actor self{stage.system()};
    auto answer = ask_to_drain(self, stage);
    const auto open = stage.ask("hello", 100);
    stage.run(ahead);
    self->send(stage.supervisor(), msg::end_grace{});
    stage.run();
    expect_outcome(answer, drain_outcome::requests_cut);
    ASSERT_EQ(open->ends.size(), 1U);
    expect_cut_off(*open);
    stage.expect_idle(1);
  }
}

// Who waits has seen nothing of an answer, nor has who computes a prompt.
TEST(Drain, RefusesWhoHasNotBegunWhereTheGraceIsOver) {
  stage stage({.max_num_seqs = 1});
  const auto runs = stage.ask("hello", 100);
  stage.run(20);
  const auto waits = stage.ask("hello", 100);
  const auto left = stage.ask("hello", 100);
  stage.run(20);
  stage.abort(*left);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  self->send(stage.supervisor(), msg::end_grace{});
  stage.run();
  expect_outcome(answer, drain_outcome::requests_cut);
  EXPECT_GT(runs->tokens.size(), 0U);
  ASSERT_EQ(waits->ends.size(), 1U);
  ASSERT_TRUE(waits->ends[0].failure);
  ASSERT_EQ(left->ends.size(), 1U);
  EXPECT_EQ(left->ends[0].reason, finish_reason::abort) << "as its client wanted";
  for (const auto& client : {runs, waits}) expect_cut_off(*client);
  stage.expect_idle(1);
}

// A request of several answers fails as a whole, so one of them that has begun is told of.
TEST(Drain, TellsOfAnAnswerThatHasBegunBesideOneThatHasNot) {
  stage stage({.max_num_seqs = 1});
  sampling_params long_answer;
  long_answer.max_tokens = 100;
  const auto answers = stage.ask_choices("hello", long_answer, 2);
  stage.run(30);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  self->send(stage.supervisor(), msg::end_grace{});
  stage.run();
  expect_outcome(answer, drain_outcome::requests_cut);
  for (const auto& client : answers) {
    ASSERT_EQ(client->ends.size(), 1U);
    EXPECT_EQ(client->ends[0].reason, finish_reason::abort);
  }
  stage.expect_idle(1);
}

TEST(Drain, AbortsWhatTheGraceDoesNotSee) {
  stage stage;
  const auto open = stage.ask("hello", 100);
  stage.run(20);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run(4);
  ASSERT_TRUE(open->ends.empty());
  stage.advance(std::chrono::seconds(11));
  stage.run();
  answer.receive(
      [](const msg::company_drained& drained) {
        EXPECT_EQ(drained.outcome, drain_outcome::requests_cut);
        EXPECT_EQ(drained.aborted, 1U);
      },
      [](const caf::error& why) { FAIL() << caf::to_string(why); });
  ASSERT_EQ(open->ends.size(), 1U);
  EXPECT_EQ(open->ends[0].reason, finish_reason::abort);
  EXPECT_GT(open->tokens.size(), 0U);
  stage.expect_idle(1);
}

// In whichever phase of the drain.
TEST(Drain, EndsAlsoWhereSomebodyEndsMeanwhile) {
  for (int which = 0; which < 2 * 12; ++which) {
    SCOPED_TRACE(which);
    const bool gateway = which % 2 == 1;
    stage stage;
    const auto open = stage.ask("hello", 100);
    stage.run(20);
    caf::scoped_actor self{stage.system()};
    auto answer = ask_to_drain(self, stage);
    stage.run(which / 2);
    if (gateway) stage.kill(stage.roster().gateway);
    for (const tokenizer_actor& tokenizer : stage.roster().tokenizers)
      if (!gateway) stage.kill(tokenizer);
    stage.run();
    stage.advance(std::chrono::seconds(11));
    stage.run();
    stage.advance(std::chrono::seconds(2));
    stage.run();
    answer.receive([](const msg::company_drained&) {}, [](const caf::error&) { FAIL(); });
    EXPECT_EQ(open->ends.size(), 1U);
  }
}

// Whoever ends without taking a request along leaves the drain complete.
TEST(Drain, IsCompleteWhereNobodysRequestsEndWithAPart) {
  for (int which = 0; which < 3; ++which) {
    SCOPED_TRACE(which);
    stage stage(repeating_setup(speculative_method::suffix, 4));
    const auto open = stage.ask("hello", 60);
    stage.run(60);
    caf::scoped_actor self{stage.system()};
    auto answer = ask_to_drain(self, stage);
    while (stage.status().ready) stage.run(1);
    ASSERT_TRUE(open->ends.empty());
    if (which == 0) stage.kill(stage.roster().kv_cache);
    if (which == 1) stage.kill(stage.roster().drafter);
    if (which == 2) stage.kill(stage.roster().text_worker);
    stage.run();
    expect_outcome(answer, drain_outcome::complete);
    EXPECT_EQ(open->tokens.size(), 60U) << which;
  }
}

TEST(Drain, WaitsForNobodyWhoHasEnded) {
  stage stage;
  const auto open = stage.ask("hello", 100);
  stage.run(20);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run(4);
  EXPECT_TRUE(self->mailbox().empty());
  for (const tokenizer_actor& tokenizer : stage.roster().tokenizers) stage.kill(tokenizer);
  stage.run();
  EXPECT_EQ(open->ends.size(), 1U);
  ASSERT_FALSE(self->mailbox().empty()) << "nothing runs any more, long before the grace is over";
  expect_outcome(answer, drain_outcome::part_lost);
}

TEST(Drain, OfACompanyThatHasFailedAnswersToo) {
  stage stage;
  for (int i = 0; i < 20 && stage.status().live; ++i) {
    stage.kill(stage.roster().tokenizers[0]);
    stage.run();
  }
  ASSERT_FALSE(stage.status().live);
  EXPECT_TRUE(std::ranges::any_of(stage.roster().tokenizers, [](const auto& each) { return !each; }));
  EXPECT_TRUE(
      stage.query<msg::company_drained>(stage.supervisor(), msg::drain_company{std::chrono::seconds(10)}));
}

TEST(Drain, OfAnIdleCompanyAnswersAtOnceAndTwice) {
  stage stage;
  for (int i = 0; i < 2; ++i) {
    const auto answer =
        stage.query<msg::company_drained>(stage.supervisor(), msg::drain_company{std::chrono::seconds(10)});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->outcome, drain_outcome::complete);
  }
}

// A gateway whose clients never take the last of their answers.
gateway_actor::behavior_type clinging_gateway(
    gateway_actor::stateful_pointer<caf::unit_t> self,
    std::shared_ptr<caf::typed_response_promise<msg::drained>> promise) {
  return {
      [](const msg::open_stream&, const client_stream_ptr&, const generation_request_ptr&) {},
      [](const msg::abort&) {},
      [](const msg::stream_output&, const stream_batch_ptr&) {},
      [](const msg::meet&, const company_roster_ptr&) {},
      [](const msg::close_doors&) { return msg::drained{}; },
      [self, promise](const msg::drain&) -> caf::result<msg::drained> {
        *promise = self->make_response_promise<msg::drained>();
        return *promise;
      },
      [](const msg::connections_closed&) {},
      [promise](const msg::abandon_connections&) { promise->deliver(msg::drained{}); },
      [](const msg::reload&, const company_limits_ptr&) {},
      [](const msg::count&) { return msg::gateway_counts{}; },
      [](const msg::take_stock&) {},
  };
}

void add_clinging_gateway(stage& company) {
  const gateway_actor gateway =
      company.system().spawn(clinging_gateway, std::make_shared<caf::typed_response_promise<msg::drained>>());
  caf::anon_send(company.supervisor(), msg::add_gateway{"clinging", "http_gateway"}, gateway,
                 gateway_starter([](const company_roster_ptr&) { return gateway_actor(); }));
}

TEST(Drain, IsNotCompleteWhereAnAnswerWasLeftUnread) {
  stage stage;
  add_clinging_gateway(stage);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run();
  stage.advance(std::chrono::seconds(11));
  stage.run();
  stage.advance(std::chrono::seconds(2));  // what a drain keeps of its grace for the last bytes
  stage.run();
  expect_outcome(answer, drain_outcome::connections_cut);
}

// The grace is all of it: what a drain keeps for the last bytes is taken from the requests' time, not added.
TEST(Drain, IsOverWithItsGraceWhateverIsOpen) {
  stage stage;
  add_clinging_gateway(stage);
  stage.run();
  const auto open = stage.ask("hello", 100);
  stage.run(20);
  caf::scoped_actor self{stage.system()};
  auto answer = self->request(stage.supervisor(), std::chrono::milliseconds(10'500),
                              msg::drain_company{std::chrono::seconds(10)});
  while (stage.status().ready) stage.run(1);  // until the supervisor has heard of it
  ASSERT_TRUE(open->ends.empty());
  stage.advance(std::chrono::seconds(9));
  stage.run();
  ASSERT_EQ(open->ends.size(), 1U);
  EXPECT_EQ(open->ends[0].reason, finish_reason::abort);
  stage.advance(std::chrono::seconds(1));
  stage.run();
  stage.advance(std::chrono::seconds(1));  // an answer that has not come by now comes too late
  expect_outcome(answer, drain_outcome::requests_cut);
}

// Whether he says so before the drain or during it.
TEST(Drain, HasNoGraceForWhomeverDoesNotWantToWait) {
  for (const bool before : {true, false}) {
    SCOPED_TRACE(before);
    stage stage;
    const auto open = stage.ask("hello", 100);
    stage.run(20);
    caf::scoped_actor self{stage.system()};
    if (before) caf::anon_send(stage.supervisor(), msg::end_grace{});
    auto answer = ask_to_drain(self, stage);
    stage.run(4);
    if (!before) caf::anon_send(stage.supervisor(), msg::end_grace{});
    stage.run();
    expect_outcome(answer, drain_outcome::requests_cut);
    ASSERT_EQ(open->ends.size(), 1U);
    expect_cut_off(*open);
    stage.expect_idle(1);
  }
}

TEST(Drain, IsCompleteWhereNobodyWantsToWaitAndNothingIsOpen) {
  stage stage;
  caf::anon_send(stage.supervisor(), msg::end_grace{});
  const auto answer =
      stage.query<msg::company_drained>(stage.supervisor(), msg::drain_company{std::chrono::seconds(10)});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, drain_outcome::complete);
}

TEST(Drain, WaitsForClientsAMomentWhereNobodyWantsTo) {
  stage stage;
  add_clinging_gateway(stage);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run();
  caf::anon_send(stage.supervisor(), msg::end_grace{});
  stage.run();
  stage.advance(std::chrono::milliseconds(250));
  stage.run();
  expect_outcome(answer, drain_outcome::connections_cut);
}

}  // namespace
}  // namespace troupe::test
