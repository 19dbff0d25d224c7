// Actors that end.
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

TEST(Death, OfTheCompanyIsNotThatOfTheSupervisorWhereACallbackThrows) {
  stage stage;
  int calls = 0;
  for (int i = 0; i < 2; ++i)
    stage.board().on_failure([&](const std::string&) {
      ++calls;
      throw std::runtime_error("mine");
    });
  for (int deaths = 0; deaths < 100 && calls == 0; ++deaths) {
    stage.kill(stage.roster().scheduler);
    stage.run();
  }
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(stage.lives(stage.supervisor()));
  EXPECT_EQ(stage.board().failure(), "scheduler");
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
    parts.device = *parts.open_device(true);
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
    parts.device = *parts.open_device(true);
    parts.open_device = [&tries](bool) -> result<runner_device> {
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

// More often than a runner may end: it is not the runner's fault, and no other service would have more.
TEST(Death, OfTheRunnerWhereTheSystemStartsNoThreadIsFollowedByAnotherWhenItDoes) {
  company_setup setup;
  int refusals = 0;
  setup.adjust = [&refusals](supervisor_parts& parts) {
    parts.has_thread = [&refusals]() -> result<void> {
      if (refusals == 0) return {};
      --refusals;
      return fail(error_code::resource_exhausted, "no thread");
    };
  };
  stage stage(setup);
  const auto who = stage.ask("hello", 10);
  stage.run(20);
  refusals = 12;
  stage.kill(stage.roster().model_runner);
  stage.run();
  for (int i = 0; i < 20; ++i) {
    stage.advance(std::chrono::seconds(5));
    stage.run();
  }
  EXPECT_EQ(refusals, 0);
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->ends[0].reason, finish_reason::length);
  EXPECT_TRUE(stage.status().live);
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

}  // namespace
}  // namespace troupe::test
