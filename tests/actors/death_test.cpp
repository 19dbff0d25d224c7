// Actors that end, companies that drain, and questions.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/generation_request.hpp"
#include "tests/actors/company_members_fixture.hpp"

namespace troupe::test {
namespace {

double errors_counted(stage& stage) { return stage.metric("troupe_request_errors_total"); }

double errors_seen(const std::vector<std::shared_ptr<client>>& clients) {
  double errors = 0;
  for (const auto& who : clients) errors += who->ends[0].reason == finish_reason::error ? 1 : 0;
  return errors;
}

TEST(Death, OfAnyActorAtAnyMomentEndsEveryStreamOnceAndTheCompanyGoesOn) {
  for (const company_member& victim : company_members()) {
    for (std::size_t messages = 0;; ++messages) {
      SCOPED_TRACE(victim.name + " after " + std::to_string(messages));
      stage stage(with_drafts());
      std::vector<std::shared_ptr<client>> clients;
      for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("hello", 5));
      const bool over = stage.run(messages) < messages;
      victim.kill(stage);
      stage.run();
      for (const auto& who : clients) {
        ASSERT_EQ(who->ends.size(), 1U);
        EXPECT_EQ(who->events_after_end, 0U);
        const finish_reason reason = who->ends[0].reason;
        EXPECT_EQ(who->ends[0].failure.has_value(), reason == finish_reason::error);
        EXPECT_TRUE(reason == finish_reason::length || victim.takes_requests_along);
        EXPECT_TRUE(reason == finish_reason::error || who->text == "fghij");
      }
      EXPECT_EQ(errors_counted(stage), errors_seen(clients));
      stage.expect_served();
      if (over || messages > 60) break;
    }
  }
}

TEST(Death, OfAnyTwoActorsTogetherLeavesNoStreamOpen) {
  for (const company_member& first : company_members()) {
    for (const company_member& second : company_members()) {
      // The way of a new runner is the longest.
      const std::size_t most = first.name == "model_runner" ? 40 : 8;
      for (std::size_t between = 0; between <= most; ++between) {
        SCOPED_TRACE(first.name + ", " + second.name + " after " + std::to_string(between));
        stage stage(with_drafts());
        std::vector<std::shared_ptr<client>> clients;
        for (int i = 0; i < 3; ++i) clients.push_back(stage.ask("hello", 5));
        stage.run(23);
        first.kill(stage);
        for (std::size_t i = 0; i <= between; ++i) {
          clients.push_back(stage.ask("hello", 5));
          stage.run(1);
        }
        second.kill(stage);
        clients.push_back(stage.ask("hello", 5));
        stage.run();
        for (const auto& who : clients) ASSERT_EQ(who->ends.size(), 1U);
        const auto next = stage.ask("hello", 5);
        stage.run();
        EXPECT_EQ(next->text, "fghij");
        stage.expect_idle();
      }
    }
  }
}

// But for the drafter, which is left out: DrafterActor.ThatEndsTooOftenIsLeftOutAndNobodyElseEnds.
TEST(Death, OfOneActorAgainAndAgainIsTheEndOfTheCompany) {
  for (const company_member& victim : company_members()) {
    if (std::string_view(victim.name) == "drafter") continue;
    SCOPED_TRACE(victim.name);
    stage stage(with_drafts());
    std::string reported;
    stage.board().on_failure([&](const std::string& actor) { reported = actor; });
    std::vector<std::shared_ptr<client>> clients;
    int deaths = 0;
    for (; deaths < 100 && reported.empty(); ++deaths) {
      clients.push_back(stage.ask("hello", 5));
      stage.run();  // no step runs that could be to blame
      victim.kill(stage);
      stage.run();
    }
    EXPECT_EQ(reported, victim.name);
    EXPECT_GE(deaths, 6);
    EXPECT_LE(deaths, 54) << "three in the keepers for each in the requests, three there for each of six";
    EXPECT_FALSE(stage.status().ready || stage.status().live);
    // Who comes later is refused, not forgotten.
    clients.push_back(stage.ask("hello", 5));
    stage.run();
    for (const auto& who : clients) ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(clients.back()->ends[0].reason, finish_reason::error);
  }
}

TEST(Death, OfOneActorNowAndThenIsNot) {
  for (const company_member& victim : company_members()) {
    SCOPED_TRACE(victim.name);
    stage stage(with_drafts());
    for (int i = 0; i < 30; ++i) {
      victim.kill(stage);
      stage.run();
      stage.advance(std::chrono::seconds(20));
    }
    EXPECT_TRUE(stage.status().ready && stage.status().live);
    const auto who = stage.ask("hello", 5);
    stage.run();
    EXPECT_EQ(who->text, "fghij");
    stage.expect_idle();
  }
}

TEST(Death, OfTheRunnerInAStepCostsNobodyAnything) {
  for (int fatal = 1; fatal <= 12; ++fatal) {
    int left = fatal;
    stage stage({.max_num_seqs = 2, .before_step = [&](const device_batch&) {
                   if (--left == 0) throw std::runtime_error("secret detail");
                 }});
    left = fatal;
    std::vector<std::shared_ptr<client>> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(stage.ask("hello", 10));
    stage.run();
    EXPECT_LT(left, 1);
    for (const auto& who : clients) {
      ASSERT_EQ(who->ends.size(), 1U);
      EXPECT_EQ(who->ends[0].reason, finish_reason::length);
      EXPECT_EQ(who->text, "fghijklmno");
    }
    stage.expect_idle();
  }
}

// A company whose device ends with every step that reads this token.
company_setup poisoned_by(token_id poison, std::int32_t max_num_seqs = company_setup{}.max_num_seqs) {
  company_setup setup{.max_num_seqs = max_num_seqs};
  setup.before_step = [poison](const device_batch& batch) {
    for (const token_id token : batch.tokens)
      if (token == poison) throw std::runtime_error("secret detail");
  };
  return setup;
}

TEST(Death, OfTheRunnerByOneRequestIsThatRequestsEndAlone) {
  stage stage(poisoned_by('!'));
  std::vector<std::shared_ptr<client>> others;
  for (int i = 0; i < 5; ++i) others.push_back(stage.ask("hello", 10));
  stage.run(25);
  const auto guilty = stage.ask("hello!", 10);
  for (int i = 0; i < 5; ++i) others.push_back(stage.ask("hello", 10));
  stage.run();
  for (const auto& who : others) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->text, "fghijklmno");
  }
  ASSERT_EQ(guilty->ends.size(), 1U);
  ASSERT_TRUE(guilty->ends[0].failure);
  EXPECT_EQ(guilty->ends[0].failure->code, error_code::internal);
  EXPECT_EQ(guilty->ends[0].failure->message.find("secret"), std::string::npos);
  EXPECT_TRUE(stage.status().live) << "what a step is to blame for does not count";
  EXPECT_EQ(stage.status().reason, "the model runner ends again and again");
  stage.expect_served(stage::runner_settles);
}

// However many they are: each trial ends with one of them fewer.
TEST(Death, OfTheRunnerByACrowdOfRequestsIsThatOfEachOfThemAndOfNobodyElse) {
  stage stage(poisoned_by('!', 64));
  std::vector<std::shared_ptr<client>> others;
  for (int i = 0; i < 3; ++i) others.push_back(stage.ask("hello", 40));
  stage.run(25);
  std::vector<std::shared_ptr<client>> guilty;
  for (int i = 0; i < 40; ++i) guilty.push_back(stage.ask("hello!", 10));
  stage.run();
  for (const auto& who : others) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].reason, finish_reason::length);
    EXPECT_EQ(who->text.size(), 40U);
  }
  for (const auto& who : guilty) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].failure->message, "the model runner ends whenever it computes this request");
  }
  EXPECT_TRUE(stage.status().live);
  stage.expect_served(stage::runner_settles);
}

// However often they come: that nobody else is served meanwhile is not the device's fault.
TEST(Death, OfTheRunnerByOneRequestAfterTheOtherIsThatOfEachOfThem) {
  stage stage(poisoned_by('!'));
  for (int i = 0; i < 40; ++i) {
    const auto guilty = stage.ask("hello!", 10);
    stage.run();
    ASSERT_EQ(guilty->ends.size(), 1U);
    EXPECT_EQ(guilty->ends[0].failure->message, "the model runner ends whenever it computes this request");
  }
  EXPECT_TRUE(stage.status().live);
  stage.expect_served(stage::runner_settles);
}

TEST(Death, OfTheRunnerInEveryStepIsThatOfTheCompany) {
  bool is_broken = false;
  stage stage({.max_num_queued_requests = 1000, .before_step = [&is_broken](const device_batch&) {
                 if (is_broken) throw std::runtime_error("broken");
               }});
  is_broken = true;
  std::string reported;
  stage.board().on_failure([&](const std::string& actor) { reported = actor; });
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 40 && reported.empty(); ++i) {
    clients.push_back(stage.ask("hello", 5));
    stage.run();
  }
  EXPECT_EQ(reported, "model_runner");
  for (const auto& who : clients) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].reason, finish_reason::error);
  }
}

TEST(Death, OfTheRunnerIsThatOfTheCompanyWhereThereIsNoOtherDevice) {
  company_setup setup;
  setup.adjust = [](supervisor_parts& parts) {
    parts.device = *parts.open_device();
    parts.open_device = nullptr;
  };
  stage stage(setup);
  const auto who = stage.ask("hello", 10);
  stage.run(20);
  stage.kill(stage.roster().model_runner);
  stage.run();
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->ends[0].reason, finish_reason::error);
  EXPECT_FALSE(stage.status().live);
}

TEST(Death, OfTheRunnerIsThatOfTheCompanyWhereNoDeviceOpensAnyMore) {
  company_setup setup;
  int tries = 0;
  setup.adjust = [&tries](supervisor_parts& parts) {
    parts.device = *parts.open_device();
    parts.open_device = [&tries]() -> result<runner_device> {
      ++tries;
      return fail(error_code::resource_exhausted, "no memory");
    };
  };
  stage stage(setup);
  const auto who = stage.ask("hello", 10);
  stage.run(20);
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_GE(tries, 5);
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->ends[0].reason, finish_reason::error);
  EXPECT_FALSE(stage.status().live);
}

TEST(Death, OfTheSupervisorEndsEverybodyAndEveryStreamOnce) {
  stage stage;
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("hello", 5));
  stage.run(10);
  stage.kill(stage.supervisor());
  stage.run();
  for (const auto& who : clients) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->events_after_end, 0U);
  }
  EXPECT_FALSE(stage.query<msg::kv_cache_counts>(stage.roster().kv_cache, msg::count{}));
}

TEST(Death, OfTheTextWorkerAnswersItsCallers) {
  stage stage;
  int answers = 0;
  const auto ask = [&](bool is_served) {
    stage.port().tokenize({text_prompt{"abc"}, false},
                          [&, is_served](const result<net::tokenize_reply>& reply) {
                            ++answers;
                            ASSERT_EQ(reply.has_value(), is_served);
                            EXPECT_TRUE(reply || reply.error().code == error_code::unavailable);
                          });
  };
  stage.kill(stage.roster().text_worker);
  ask(false);
  stage.run();
  EXPECT_EQ(answers, 1);
  ask(true);
  stage.run();
  EXPECT_EQ(answers, 2);
}

auto ask_to_drain(caf::scoped_actor& self, stage& company) {
  return self->request(company.supervisor(), caf::infinite, msg::drain_company{std::chrono::seconds(10)});
}

TEST(Drain, LetsOpenRequestsFinishAndRefusesNewOnes) {
  stage stage;
  const auto open = stage.ask("hello", 9);
  stage.run(6);
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run(2);  // the supervisor's, the first tokenizer's
  const auto late = stage.ask("hello", 9);
  stage.run();
  answer.receive(
      [](const msg::company_drained& drained) { EXPECT_EQ(drained.outcome, drain_outcome::complete); },
      [](const caf::error&) { FAIL(); });
  ASSERT_EQ(open->ends.size(), 1U);
  EXPECT_EQ(open->ends[0].reason, finish_reason::length);
  ASSERT_EQ(late->ends.size(), 1U);
  ASSERT_TRUE(late->ends[0].failure);
  EXPECT_EQ(late->ends[0].failure->code, error_code::unavailable);
  EXPECT_FALSE(stage.status().ready);
  EXPECT_TRUE(stage.status().live);
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
      [](const msg::company_drained& drained) { EXPECT_EQ(drained.outcome, drain_outcome::requests_cut); },
      [](const caf::error&) { FAIL(); });
  ASSERT_EQ(open->ends.size(), 1U);
  EXPECT_EQ(open->ends[0].reason, finish_reason::abort);
  EXPECT_GT(open->tokens.size(), 0U);
  stage.expect_idle(1);
}

TEST(Drain, EndsAlsoWhereSomebodyEndsMeanwhile) {
  for (const bool gateway : {false, true}) {
    stage stage;
    const auto open = stage.ask("hello", 100);
    stage.run(20);
    caf::scoped_actor self{stage.system()};
    auto answer = ask_to_drain(self, stage);
    stage.run(4);
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
  answer.receive(
      [](const msg::company_drained& drained) { EXPECT_EQ(drained.outcome, drain_outcome::part_lost); },
      [](const caf::error&) { FAIL(); });
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

TEST(Drain, IsNotCompleteWhereAnAnswerWasLeftUnread) {
  stage stage;
  const gateway_actor gateway =
      stage.system().spawn(clinging_gateway, std::make_shared<caf::typed_response_promise<msg::drained>>());
  caf::anon_send(stage.supervisor(), msg::add_gateway{"clinging", "http_gateway"}, gateway,
                 gateway_starter([](const company_roster_ptr&) { return gateway_actor(); }));
  caf::scoped_actor self{stage.system()};
  auto answer = ask_to_drain(self, stage);
  stage.run();
  stage.advance(std::chrono::seconds(11));
  stage.run();
  stage.advance(std::chrono::seconds(2));  // what a drain keeps of its grace for the last bytes
  stage.run();
  answer.receive(
      [](const msg::company_drained& drained) { EXPECT_EQ(drained.outcome, drain_outcome::connections_cut); },
      [](const caf::error&) { FAIL(); });
}

// The grace is all of it: what a drain keeps for the last bytes is taken from the requests' time, not added.
TEST(Drain, IsOverWithItsGraceWhateverIsOpen) {
  stage stage;
  const gateway_actor gateway =
      stage.system().spawn(clinging_gateway, std::make_shared<caf::typed_response_promise<msg::drained>>());
  caf::anon_send(stage.supervisor(), msg::add_gateway{"clinging", "http_gateway"}, gateway,
                 gateway_starter([](const company_roster_ptr&) { return gateway_actor(); }));
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
  answer.receive(
      [](const msg::company_drained& drained) { EXPECT_EQ(drained.outcome, drain_outcome::requests_cut); },
      [](const caf::error& late) { FAIL() << caf::to_string(late); });
}

TEST(Text, GoesToTokensAndBack) {
  stage stage;
  std::vector<token_id> tokens;
  std::string text;
  stage.port().tokenize({text_prompt{"abc"}, true}, [&](const result<net::tokenize_reply>& reply) {
    ASSERT_TRUE(reply);
    tokens = reply->tokens;
    EXPECT_EQ(reply->token_strs, (std::vector<std::string>{"a", "b", "c"}));
  });
  stage.port().detokenize({'x', 'y'}, [&](const result<std::string>& reply) { text = reply.value(); });
  int refused = 0;
  stage.port().detokenize({'x', 9999}, [&](const result<std::string>& reply) { refused += reply ? 0 : 1; });
  stage.port().detokenize({-1}, [&](const result<std::string>& reply) { refused += reply ? 0 : 1; });
  stage.run();
  EXPECT_EQ(tokens, (std::vector<token_id>{'a', 'b', 'c'}));
  EXPECT_EQ(text, "xy");
  EXPECT_EQ(refused, 2);
  stage.port().detokenize({'x', 0xE2, 0x82, 'y', 0xFF},
                          [&](const result<std::string>& reply) { text = reply.value(); });
  stage.run();
  EXPECT_EQ(text, "x\uFFFDy\uFFFD") << "as a stream shows it";
}

TEST(Questions, AreAnsweredWhereARequestStandsAndWhetherTheCacheIsForgotten) {
  stage stage;
  const auto who = stage.ask("hello", 100);
  std::optional<request_state> seen;
  stage.run(30);
  stage.port().describe(who->id, [&](std::optional<request_state> state) { seen = std::move(state); });
  stage.run(10);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->id, who->id);
  EXPECT_EQ(seen->phase, request_phase::running);
  EXPECT_EQ(seen->prompt_tokens, 5);
  EXPECT_GE(seen->computed_tokens, 5);
  stage.run();
  int answers = 0;
  stage.port().describe(who->id, [&](const std::optional<request_state>& state) {
    ++answers;
    EXPECT_FALSE(state);
  });
  stage.port().reset_prefix_cache([&](bool done) {
    ++answers;
    EXPECT_TRUE(done);
  });
  stage.run();
  EXPECT_EQ(answers, 2);
  stage.kill(stage.roster().scheduler);
  stage.kill(stage.roster().kv_cache);
  stage.port().describe(1, [&](const std::optional<request_state>& state) { answers += state ? 0 : 1; });
  stage.port().reset_prefix_cache([&](bool done) { answers += done ? 0 : 1; });
  stage.run();
  EXPECT_EQ(answers, 4);
}

}  // namespace
}  // namespace troupe::test
