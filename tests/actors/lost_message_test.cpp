// Messages that were sent and never handled: who misses them, and what it costs.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "actors/clients/socket_gateway.hpp"
#include "actors/scheduler/scheduler.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"
#include "tests/actors/company_members_fixture.hpp"

namespace troupe::test {
namespace {

// Whom a member that misses a message may cost an answer.
bool costs_requests(const company_member& member) {
  return member.takes_requests_along && member.name != "scheduler";
}

sampling_params within(grammar_spec grammar) {
  sampling_params held = greedy(12);
  held.grammar = std::make_shared<const grammar_spec>(std::move(grammar));
  return held;
}

// As many letters as 77 divides, 80 at most. No quick compiler finds that out.
const grammar_spec hard_grammar{
    .kind = grammar_kind::json_schema,
    .text = R"({"allOf":[{"type":"string","pattern":"^(a{7})*$"},{"pattern":"^(a{11})*$"},)"
            R"({"minLength":1,"maxLength":80}]})",
    .json = {.max_white_space = 0}};

// Work for everybody: grammars for both compilers, a prompt for the tokenizer of long ones, texts.
struct work_for_all {
  std::vector<std::shared_ptr<client>> plain;
  std::vector<std::shared_ptr<client>> others;
  std::shared_ptr<int> texts = std::make_shared<int>(0);  // answered

  explicit work_for_all(stage& stage) {
    for (int i = 0; i < 4; ++i) plain.push_back(stage.ask("hello", 5));
    others.push_back(stage.ask("hello", within({grammar_kind::regex, "f?g?h?.*"})));
    others.push_back(stage.ask("hello", within(hard_grammar)));
    others.push_back(stage.ask(std::string(std::size_t{20} << 10U, 'a'), 5));
    for (int i = 0; i < 2; ++i)
      stage.port().tokenize({text_prompt{"abc"}, false}, [texts = texts](const auto&) { ++*texts; });
  }
};

TEST(LostMessage, OnItsWayToAnyActorIsMissedAndCostsNoMoreThanItsEnd) {
  for (const company_member& receiver : company_members()) {
    int losses = 0;
    for (std::size_t messages = 0; messages < 90; ++messages) {
      SCOPED_TRACE(receiver.name + " after " + std::to_string(messages));
      company_setup setup = with_drafts();
      setup.grammars.max_compile_steps = 128 * 200;
      stage stage(setup);
      const work_for_all work(stage);
      stage.run(messages);
      if (!receiver.lose_message(stage)) continue;
      ++losses;
      stage.run();
      stage.take_stock();
      for (const auto& who : work.plain) {
        ASSERT_EQ(who->ends.size(), 1U);
        EXPECT_EQ(who->events_after_end, 0U);
        const finish_reason reason = who->ends[0].reason;
        EXPECT_TRUE(reason == finish_reason::length || costs_requests(receiver));
        EXPECT_EQ(who->text, std::string("fghij").substr(0, who->text.size())) << "no token is left out";
        EXPECT_TRUE(reason == finish_reason::error || who->text == "fghij");
      }
      for (const auto& who : work.others) {
        ASSERT_EQ(who->ends.size(), 1U);
        EXPECT_EQ(who->events_after_end, 0U);
      }
      EXPECT_EQ(*work.texts, 2) << "each is answered, or refused";
      stage.expect_served();
    }
    EXPECT_GT(losses, 0) << receiver.name;
  }
}

TEST(LostMessage, OfAGrammarIsMissed) {
  const std::vector<std::pair<std::string, std::function<bool(stage&)>>> keepers{
      {"quick grammar_compiler", [](stage& s) { return s.lose_message(s.roster().compilers.quick); }},
      {"structured_output", [](stage& s) { return s.lose_message(s.roster().structured_output); }},
      {"model_runner", [](stage& s) { return s.lose_message(s.roster().model_runner); }}};
  for (const auto& [name, lose] : keepers) {
    int losses = 0;
    for (std::size_t messages = 0; messages < 40; ++messages) {
      SCOPED_TRACE(name + " after " + std::to_string(messages));
      stage stage;
      sampling_params held = greedy(3);
      held.grammar = std::make_shared<const grammar_spec>(grammar_spec{grammar_kind::regex, "f?g?h?.*"});
      const auto bound = stage.ask("hello", held);
      const auto free = stage.ask("hello", 5);
      stage.run(messages);
      if (!lose(stage)) continue;
      ++losses;
      stage.run();
      stage.take_stock();
      ASSERT_EQ(bound->ends.size(), 1U);
      ASSERT_EQ(free->ends.size(), 1U);
      EXPECT_EQ(free->text, "fghij");
      EXPECT_TRUE(bound->ends[0].reason != finish_reason::error || name != "model_runner");
      stage.expect_served();
    }
    EXPECT_GT(losses, 0) << name;
  }
}

// The last of a link, after which nobody says anything: only the next stock-taking shows it.
TEST(LostMessage, ThatNoneComesAfterIsMissedWithinSeconds) {
  stage stage({.max_steps_in_flight = 1});
  const auto who = stage.ask("hello", 5);
  while (stage.run(1) == 1 && !stage.lose_message(stage.roster().model_runner)) {
  }
  stage.run();
  EXPECT_TRUE(who->ends.empty());
  stage.take_stock();
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->text, "fghij");
  stage.expect_served();
}

// The scheduler is asked who is to blame for the runner's end; and again, where it has missed that.
TEST(LostMessage, BetweenTheSupervisorAndTheSchedulerLeavesNobodyWithoutARunner) {
  for (const bool is_lost_both_ways : {false, true}) {
    stage stage;
    const auto who = stage.ask("hello", 5);
    stage.run(20);
    stage.kill(stage.roster().model_runner);
    bool is_lost = false;
    while (!is_lost && stage.run(1) == 1) is_lost = stage.lose_message(stage.roster().scheduler);
    ASSERT_TRUE(is_lost);
    for (int second = 0; is_lost_both_ways && second < 5; ++second) {
      bool is_asked = false;
      while (!(is_asked = stage.lose_message(stage.supervisor())) && stage.run(1) == 1) {
      }
      if (is_asked) break;
      ASSERT_LT(second, 4) << "the supervisor is asked for nothing";
      stage.advance(std::chrono::seconds(1));
    }
    stage.run();
    stage.take_stock();
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->text, "fghij");
    stage.expect_served();
  }
}

// It ends with whom the question went to, before anybody has missed it.
TEST(LostMessage, AboutTheRunnerToASchedulerThatIsStoppedLeavesNobodyWithoutARunner) {
  int deaths_to_escalate = 0;
  for (const bool is_rehearsal : {true, false}) {
    stage stage;
    const caf::actor_id scheduler = stage.roster().scheduler.id();
    const auto kill_keeper = [&stage] {
      stage.kill(stage.roster().kv_cache);
      stage.run();
    };
    for (; is_rehearsal && stage.roster().scheduler.id() == scheduler; ++deaths_to_escalate) {
      ASSERT_LT(deaths_to_escalate, 50);
      kill_keeper();
    }
    if (is_rehearsal) continue;
    for (int i = 0; i + 1 < deaths_to_escalate; ++i) kill_keeper();
    stage.kill(stage.roster().model_runner);
    bool is_lost = false;
    while (!is_lost && stage.run(1) == 1) is_lost = stage.lose_message(stage.roster().scheduler);
    ASSERT_TRUE(is_lost);
    stage.run();
    ASSERT_FALSE(stage.lives(stage.roster().model_runner));
    ASSERT_EQ(stage.roster().scheduler.id(), scheduler);
    kill_keeper();
    ASSERT_NE(stage.roster().scheduler.id(), scheduler);
    stage.expect_served();
  }
}

// The scheduler would send a stranger's tokens to the tokenizer that was there before.
TEST(LostMessage, OfWhoIsNewCostsNobodyButItsRequests) {
  stage stage;
  const caf::actor_id scheduler = stage.roster().scheduler.id();
  stage.kill(stage.roster().tokenizers[0]);
  bool is_lost = false;
  while (!is_lost && stage.run(1) == 1) is_lost = stage.lose_message(stage.roster().scheduler);
  ASSERT_TRUE(is_lost);
  stage.run();
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("hello", 5));
  stage.run();
  stage.take_stock();
  for (const auto& who : clients) {
    ASSERT_EQ(who->ends.size(), 1U);
    if (who->id % stage.roster().tokenizers.size() != 0) {
      EXPECT_EQ(who->text, "fghij");
      continue;
    }
    ASSERT_TRUE(who->ends[0].failure);
    EXPECT_EQ(who->ends[0].failure->code, error_code::internal);
  }
  EXPECT_EQ(stage.roster().scheduler.id(), scheduler);
  stage.expect_served();
}

// Reservations, drafts and the results of steps; the last of these is missed when its deadline is over twice.
TEST(LostAnswer, ToTheSchedulerCostsNobodyAnything) {
  int losses = 0;
  for (std::size_t messages = 0; messages < 60; ++messages) {
    SCOPED_TRACE(messages);
    bool has_ended = false;
    company_setup setup = with_drafts();
    setup.step_deadline = std::chrono::seconds(10);
    setup.adjust = [with_drafts = setup.adjust, &has_ended](supervisor_parts& parts) {
      with_drafts(parts);
      parts.process.emplace();
      parts.process->has_ended = [&has_ended] { return has_ended; };
      parts.process->kill = [&has_ended] { has_ended = true; };
      parts.open_device = [&has_ended, open = parts.open_device](bool) {
        has_ended = false;
        return open(true);
      };
    };
    stage stage(setup);
    std::vector<std::shared_ptr<client>> clients;
    for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("hello", 9));
    stage.run(messages);
    if (!stage.lose_answer(stage.roster().scheduler)) continue;
    ++losses;
    stage.run();
    for (int second = 0; second < 200; ++second) {
      stage.advance(std::chrono::seconds(1));
      stage.run();
    }
    for (const auto& who : clients) {
      ASSERT_EQ(who->ends.size(), 1U);
      EXPECT_EQ(who->text, "fghijklmn");
    }
    stage.expect_served();
  }
  EXPECT_GT(losses, 5);
}

TEST(LostMessage, OfAnAbortOrAStopStringLeavesNothingRunning) {
  for (const bool aborts : {false, true}) {
    int losses = 0;
    for (std::size_t messages = 0; messages < 60; ++messages) {
      SCOPED_TRACE(messages);
      stage stage(company_setup{.num_blocks = 2048, .max_model_len = 4096});
      sampling_params sampling = greedy(4000);
      if (!aborts) sampling.stop = {"h"};
      const auto who = stage.ask("hello", sampling);
      stage.run(aborts ? 15 : messages);
      if (aborts) stage.abort(*who);
      if (aborts) stage.run(messages);
      if (!stage.lose_message(stage.roster().scheduler)) continue;
      ++losses;
      stage.run(200);
      stage.advance(std::chrono::seconds(1));
      stage.run(400);
      ASSERT_EQ(who->ends.size(), 1U);
      EXPECT_EQ(who->ends[0].reason, aborts ? finish_reason::abort : finish_reason::stop);
      const auto counts = stage.state_of<scheduler_state>(stage.roster().scheduler).count();
      EXPECT_EQ(counts.running + counts.waiting, 0);
      stage.expect_served();
      if (losses > 3) break;
    }
    EXPECT_GT(losses, 0);
  }
}

// Nobody numbers what comes from outside of the company.
TEST(LostMessage, OfAClientThatLeavesIsMadeUpForByItsGateway) {
  int losses = 0;
  for (std::size_t messages = 0; messages < 20; ++messages) {
    SCOPED_TRACE(messages);
    stage stage(company_setup{.num_blocks = 2048, .max_model_len = 4096});
    const auto who = stage.ask("hello", 4000);
    stage.run(200 + messages);
    stage.abort(*who);
    if (!stage.lose_message(stage.roster().gateway)) continue;
    stage.run(300);
    if (!who->ends.empty()) continue;  // that was another message
    ++losses;
    stage.advance(std::chrono::seconds(1));
    stage.run(300);
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].reason, finish_reason::abort);
    const auto counts = stage.state_of<scheduler_state>(stage.roster().scheduler).count();
    EXPECT_EQ(counts.running + counts.waiting, 0);
    stage.expect_served();
  }
  EXPECT_GT(losses, 0);
}

struct no_listening {};
// Closes its connections as soon as it is asked to.
struct quick_server {
  static result<quick_server> start(no_listening, net::engine_port&) { return quick_server{}; }
  std::uint16_t port() const { return 1; }
  void drain(const std::function<void()>& done) { done(); }
  void close(std::chrono::milliseconds, const error&) {}
  void change(const net::connection_limits&) {}
};
class quick_gateway_state : public socket_gateway_state<quick_server, no_listening> {
 public:
  using socket_gateway_state::socket_gateway_state;
};

TEST(LostMessage, OfClosedConnectionsHoldsNoDrainUpForLong) {
  stage stage;
  const gateway_actor gateway = stage.system().spawn(
      [&stage](gateway_actor::stateful_pointer<quick_gateway_state> self, const port_parts& ports) {
        std::promise<result<std::uint16_t>> started;
        self->state.start(stage.roster().tokenizers);
        self->state.listen(ports, {}, started);
        return gateway_handlers<quick_gateway_state>(self, ports.metrics);
      },
      stage.ports());
  stage.run();
  caf::scoped_actor self{stage.system()};
  auto answer = self->request(gateway, caf::infinite, msg::drain{});
  stage.run(1);
  ASSERT_TRUE(stage.lose_message(gateway));
  stage.run();
  caf::anon_send(gateway, msg::take_stock{true});
  stage.run();
  stage.kill(gateway);
  ASSERT_TRUE(self->has_next_message());
  answer.receive([](const msg::drained&) {}, [](const caf::error&) { ADD_FAILURE(); });
}

TEST(LostMessage, OfNobodyCostsNobodyAnything) {
  stage stage(with_drafts());
  const caf::actor_id runner = stage.roster().model_runner.id(), scheduler = stage.roster().scheduler.id();
  for (int i = 0; i < 20; ++i) {
    const auto who = stage.ask("hello", 5);
    stage.advance(std::chrono::seconds(1));
    stage.run();
    EXPECT_EQ(who->text, "fghij");
  }
  EXPECT_EQ(stage.roster().model_runner.id(), runner);
  EXPECT_EQ(stage.roster().scheduler.id(), scheduler);
  stage.expect_served();
}

}  // namespace
}  // namespace troupe::test
