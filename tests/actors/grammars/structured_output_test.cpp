// Requests that are held to grammars, through all actors, message by message.
#include <gtest/gtest.h>

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/grammars/structured_output.hpp"
#include "metrics/exposition.hpp"
#include "runtime/grammar/specification/compile_queue.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

grammar_spec_ptr regex(const std::string& text) {
  return std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = text});
}
sampling_params held_to(grammar_spec_ptr spec, std::int32_t max_tokens = 30) {
  sampling_params sampling = greedy(max_tokens);
  sampling.grammar = std::move(spec);
  return sampling;
}

// Anything at all, by seed and position.
token_id scripted(const sample_row& row) {
  const std::uint64_t hash =
      (row.sampling->seed * 1'000'003 + static_cast<std::uint64_t>(row.position)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<token_id>((hash >> 40U) % 257);
}

// A mixed crowd: two of three are held to one of a few grammars.
sampling_params nth(int i) {
  static const std::vector<grammar_spec_ptr> specs{
      regex("[a-z]+@[a-z]+\\.(com|org)"),
      std::make_shared<const grammar_spec>(grammar_spec{
          .kind = grammar_kind::json_schema,
          .text = R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"}),
      std::make_shared<const grammar_spec>(
          grammar_spec{.kind = grammar_kind::choice, .choices = {"yes", "no", "perhaps"}}),
      nullptr};
  sampling_params sampling = greedy(5 + i % 17);
  if (i % 2 == 0) sampling.temperature = 1.0F;
  sampling.seed = static_cast<std::uint64_t>(i);
  sampling.grammar = specs[static_cast<std::size_t>(i) % specs.size()];
  return sampling;
}
std::string prompt(int i) { return std::string(1 + static_cast<std::size_t>(i) * 5 % 13, 'x'); }

std::vector<std::vector<token_id>> each_alone(int count) {
  std::vector<std::vector<token_id>> tokens;
  for (int i = 0; i < count; ++i) {
    stage stage({.max_steps_in_flight = 1, .script = scripted});
    const auto who = stage.ask(prompt(i), nth(i));
    stage.run();
    tokens.push_back(who->tokens);
  }
  return tokens;
}

TEST(StructuredOutput, HoldsARequestToItsGrammarAndEndsItThere) {
  stage stage;
  const auto who = stage.ask("hello", held_to(regex("[0-9]{3}")));
  const auto free = stage.ask("hello", 4);
  stage.run();
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->ends[0].reason, finish_reason::stop);
  ASSERT_EQ(who->text.size(), 3U);
  EXPECT_EQ(who->text.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(free->text, "fghi");
  stage.expect_idle();
}

TEST(StructuredOutput, GivesTheSameTokensInAMixedCrowdAsAlone) {
  constexpr int count = 16;
  const auto alone = each_alone(count);
  for (const std::int32_t in_flight : {1, 2, 4}) {
    for (const std::int32_t blocks : {64, 14}) {
      stage stage({.num_blocks = blocks, .max_steps_in_flight = in_flight, .script = scripted});
      std::vector<std::shared_ptr<client>> clients;
      for (int i = 0; i < count; ++i) clients.push_back(stage.ask(prompt(i), nth(i)));
      stage.run();
      for (int i = 0; i < count; ++i)
        EXPECT_EQ(clients[static_cast<std::size_t>(i)]->tokens, alone[static_cast<std::size_t>(i)])
            << i << ", " << in_flight << " steps in flight, " << blocks << " blocks";
      const auto counts = stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{});
      EXPECT_EQ(counts->preemptions > 0, blocks == 14);
      stage.expect_idle();
    }
  }
}

TEST(StructuredOutput, GivesTheSameTokensInWhateverOrderMessagesAreHandled) {
  constexpr int count = 8;
  const auto alone = each_alone(count);
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    stage stage({.num_blocks = seed % 2 == 0 ? 64 : 16,
                 .max_steps_in_flight = 1 + static_cast<std::int32_t>(seed % 4),
                 .script = scripted});
    std::vector<std::shared_ptr<client>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(stage.ask(prompt(i), nth(i)));
    while (stage.run_any(random())) {
    }
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(clients[static_cast<std::size_t>(i)]->tokens, alone[static_cast<std::size_t>(i)]) << seed;
    stage.expect_idle();
  }
}

TEST(StructuredOutput, OneThatWaitsForItsGrammarSaysSoAndHoldsNobodyUp) {
  bool waited = false;
  for (std::size_t messages = 0; messages < 20 && !waited; ++messages) {
    stage stage;
    const auto who = stage.ask("hello", held_to(regex("[ab]{2}")));
    const auto free = stage.ask("hello", 3);
    stage.run(messages);
    stage.port().describe(who->id, [&](const std::optional<request_state>& state) {
      waited = state && state->phase == request_phase::waiting && state->reason == "waiting: grammar";
    });
    stage.run();
    EXPECT_EQ(free->text, "fgh");
    EXPECT_EQ(who->text.size(), 2U);
    stage.expect_idle();
  }
  EXPECT_TRUE(waited);
}

TEST(StructuredOutput, HowLongARequestHasWaitedForItsGrammarIsToldHoweverItEnds) {
  using std::chrono::seconds;
  const auto wait_then_end = [](sampling_params sampling, seconds wait,
                                const std::function<void(stage&, const client&)>& end) {
    for (std::size_t messages = 0; messages < 20; ++messages) {
      stage stage;
      const auto who = stage.ask("hello", sampling);
      stage.run(messages);
      std::optional<bool> waits;
      stage.port().describe(who->id, [&](const std::optional<request_state>& state) {
        waits = state && state->reason == "waiting: grammar";
      });
      while (!waits && stage.run(1) > 0) {
      }
      stage.advance(wait);
      end(stage, *who);
      stage.run();
      if (waits.value_or(false)) return std::optional(who->ends.at(0));
    }
    return std::optional<finished>();
  };
  const auto go_on = [](stage&, const client&) {};
  const auto leave = [](stage& stage, const client& who) { stage.abort(who); };
  const auto by_length = wait_then_end(held_to(regex("[a-z]*"), 3), seconds(3), go_on);
  ASSERT_TRUE(by_length);
  EXPECT_EQ(by_length->grammar_wait, seconds(3));
  sampling_params stopped = held_to(regex("[a-z]*"), 20);
  stopped.stop = {"jk"};
  const auto by_text = wait_then_end(stopped, seconds(4), go_on);
  ASSERT_TRUE(by_text);
  EXPECT_EQ(by_text->stop_string, "jk");
  EXPECT_EQ(by_text->grammar_wait, seconds(4));
  const auto by_leaving = wait_then_end(held_to(regex("[a-z]*"), 3), seconds(5), leave);
  ASSERT_TRUE(by_leaving);
  EXPECT_EQ(by_leaving->grammar_wait, seconds(5));
  EXPECT_FALSE(wait_then_end(greedy(3), seconds(1), go_on)) << "waits for none";
}

TEST(StructuredOutput, ARefusedGrammarEndsItsRequestsAloneAndNamesWhy) {
  stage stage;
  const auto schema = std::make_shared<const grammar_spec>(grammar_spec{
      .kind = grammar_kind::json_schema, .text = R"({"properties":{"a":{"$ref":"elsewhere.json"}}})"});
  const auto refused = stage.ask("hello", held_to(schema));
  const auto again = stage.ask("hello", held_to(schema));
  const auto good = stage.ask("hello", held_to(regex("a+b"), 4));
  const auto free = stage.ask("hello", 3);
  stage.run();
  const auto later = stage.ask("hello", held_to(schema));
  stage.run();
  for (const auto& who : {refused, again, later}) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].reason, finish_reason::error);
    ASSERT_TRUE(who->ends[0].failure);
    EXPECT_EQ(who->ends[0].failure->code, error_code::invalid_argument);
    EXPECT_EQ(who->ends[0].failure->param, "/properties/a/$ref");
    EXPECT_TRUE(who->tokens.empty());
  }
  EXPECT_EQ(good->text.substr(0, 1), "a");
  EXPECT_EQ(free->text, "fgh");
  stage.expect_idle();
}

TEST(StructuredOutput, ATextThatIsTooLargeToBeReadIsCountedAmongTheRefused) {
  std::shared_ptr<metrics::engine_metrics> metrics;
  stage stage({.grammars = {.max_source_bytes = 4},
               .adjust = [&](supervisor_parts& parts) { metrics = parts.metrics; }});
  const auto refused = stage.ask("hello", held_to(regex("abcde")));
  stage.run();
  ASSERT_EQ(refused->ends.size(), 1U);
  ASSERT_TRUE(refused->ends[0].failure);
  EXPECT_EQ(refused->ends[0].failure->param, "max_source_bytes");
  EXPECT_EQ(metrics::exposition(metrics->text()).sum("troupe_grammars_refused_total"), 1);
  stage.expect_idle();
}

// Some letters, `most` at most, as many as 77 divides. It takes some thousand steps to see that there are
// such.
grammar_spec_ptr hard(std::int32_t most) {
  return std::make_shared<const grammar_spec>(grammar_spec{
      .kind = grammar_kind::json_schema,
      .text = R"({"allOf":[{"type":"string","pattern":"^(a{7})*$"},{"pattern":"^(a{11})*$"},{"minLength":1,)"
              R"("maxLength":)" +
              std::to_string(most) + "}]}",
      .json = {.max_white_space = 0}});
}
constexpr grammar::grammar_limits hard_is_not_quick{.max_compile_steps = 128 * 200};

TEST(StructuredOutput, AHardGrammarHoldsNoSmallOneUpThatComesAfterIt) {
  const grammar_spec_ptr easy = regex("[0-9]{3}");
  const grammar::grammar_limits quick = grammar::quick_limits(hard_is_not_quick);
  ASSERT_TRUE(grammar::ran_out_of_steps(grammar::compile(*hard(80), grammar::byte_token_trie(), quick)));
  ASSERT_TRUE(grammar::compile(*hard(80), grammar::byte_token_trie(), hard_is_not_quick));
  ASSERT_TRUE(grammar::compile(*easy, grammar::byte_token_trie(), quick));

  stage stage({.grammars = hard_is_not_quick});
  const auto first = stage.ask("hello", held_to(hard(80), 100));
  const auto same = stage.ask("hello", held_to(hard(80), 100));
  const auto second = stage.ask("hello", held_to(easy));
  // The patient compiler gets no time at all.
  const auto* patient = caf::actor_cast<caf::abstract_actor*>(stage.roster().compilers.patient);
  while (stage.run_any(0, patient)) {
  }
  ASSERT_EQ(second->ends.size(), 1U);
  EXPECT_EQ(second->ends[0].reason, finish_reason::stop);
  std::string reason;
  stage.port().describe(first->id, [&](const auto& state) { reason = state ? state->reason : "gone"; });
  while (stage.run_any(0, patient)) {
  }
  EXPECT_EQ(reason, "waiting: grammar");
  stage.run();
  EXPECT_EQ(first->text, '"' + std::string(77, 'a') + '"');
  EXPECT_EQ(same->text, first->text);
  stage.expect_idle();
}

TEST(StructuredOutput, WhoWaitsForEitherCompilerMayLeave) {
  for (const bool quick : {true, false}) {
    SCOPED_TRACE(quick ? "quick" : "patient");
    stage stage({.grammars = hard_is_not_quick});
    const auto spec = [&](std::int32_t i) { return quick ? regex("a{" + std::to_string(i) + "}") : hard(i); };
    std::vector<std::shared_ptr<client>> clients;
    for (std::int32_t i = 0; i < 4; ++i) clients.push_back(stage.ask("hello", held_to(spec(77 + i), 100)));
    const grammar_compiler_actor& compiler =
        quick ? stage.roster().compilers.quick : stage.roster().compilers.patient;
    const auto* busy = caf::actor_cast<caf::abstract_actor*>(compiler);
    while (stage.run_any(0, busy)) {
    }
    for (const std::size_t left : {0U, 2U}) stage.abort(*clients[left]);
    while (stage.run_any(0, busy)) {
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      EXPECT_EQ(clients[i]->ends.size(), i % 2 == 0 ? 1U : 0U);
      EXPECT_TRUE(clients[i]->tokens.empty());
    }
    const auto& held = stage.state_of<structured_output_state>(stage.roster().structured_output);
    EXPECT_EQ(held.count().waiting, 2U);
    stage.run();
    for (const auto& who : clients) EXPECT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(clients[1]->text.size(), quick ? 78U : 79U);
    stage.expect_idle();
  }
}

TEST(StructuredOutput, TheMetricOfTheCacheIsThatOfWhatItHoldsAfterItsTrim) {
  std::shared_ptr<metrics::engine_metrics> metrics;
  stage stage({.adjust = [&](supervisor_parts& parts) {
    parts.grammars.cache.max_bytes = 1;
    metrics = parts.metrics;
  }});
  const auto bytes = [&] {
    const std::string text = metrics->text();
    return std::stod(text.substr(text.find(' ', text.find("\ntroupe_grammar_cache_bytes"))));
  };
  const auto who = stage.ask("hello", held_to(regex("[0-9]{3}")));
  double most = 0;
  while (stage.run(1) != 0) most = std::max(most, bytes());
  EXPECT_EQ(who->text.size(), 3U);
  EXPECT_GT(most, 0);
  EXPECT_EQ(bytes(), 0) << "nobody uses it any more";
}

TEST(StructuredOutput, TextsThatWaitHoldUpNoCompileHoweverSmallTheCache) {
  stage stage({.adjust = [](supervisor_parts& parts) { parts.grammars.cache.max_bytes = 64U << 10U; }});
  const auto busy = stage.ask("hello", held_to(regex("[a-z]*"), 60));
  while (busy->tokens.empty() && stage.run(1) != 0) {
  }
  std::vector<std::shared_ptr<client>> large;
  for (const char letter : {'a', 'b', 'c'})
    large.push_back(stage.ask("hello", held_to(regex(std::string(100U << 10U, letter)))));
  const auto small = stage.ask("hello", held_to(regex("(yes|no)")));
  while (small->ends.empty() && stage.run(1) != 0) {
  }
  EXPECT_EQ(small->ends.size(), 1U);
  EXPECT_TRUE(busy->ends.empty()) << "none of those that run need end for it";
  stage.run();
  for (const auto& who : large) EXPECT_EQ(who->ends.size(), 1U);
  stage.expect_idle();
}

TEST(StructuredOutput, OneThatCannotGoOnEndsWithAnErrorAndTheOthersDoNot) {
  stage stage({.max_steps_in_flight = 3, .grammars = {.max_mask_steps = 600}});
  const auto who = stage.ask("hello", held_to(regex("a{3}(a|b|cd|ef|gh)*[^x]{0,50}")));
  const auto good = stage.ask("hello", held_to(regex("a")));
  const auto free = stage.ask("hello", 6);
  stage.run();
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->ends[0].reason, finish_reason::error);
  EXPECT_EQ(who->ends[0].failure->param, "max_mask_steps");
  EXPECT_EQ(who->text, "aaa") << "as far as it went";
  EXPECT_EQ(good->ends[0].reason, finish_reason::stop);
  EXPECT_EQ(free->text, "fghijk");
  stage.expect_idle();
}

TEST(StructuredOutput, AGrammarThatPassedALimitInUseIsRefusedForAWhile) {
  std::shared_ptr<metrics::engine_metrics> metrics;
  stage stage({.grammars = {.max_mask_steps = 600},
               .adjust = [&](supervisor_parts& parts) { metrics = parts.metrics; }});
  const auto spec = regex("a{3}(a|b|cd|ef|gh)*[^x]{0,50}");
  const auto ask = [&] {
    const auto who = stage.ask("hello", held_to(spec));
    stage.run();
    EXPECT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].failure->param, "max_mask_steps");
    return who->text;
  };
  EXPECT_EQ(ask(), "aaa");
  EXPECT_EQ(ask(), "") << "at once";
  EXPECT_EQ(metrics::exposition(metrics->text()).sum("troupe_grammars_refused_total"), 1);
  EXPECT_EQ(metrics::exposition(metrics->text()).sum("troupe_grammar_masks_refused_total"), 1);
  stage.advance(std::chrono::seconds(61));
  EXPECT_EQ(ask(), "aaa");
  stage.expect_idle();
}

TEST(StructuredOutput, ATextThatBecomesCostlyEndsAndIsCountedAndItsGrammarIsNotRefused) {
  std::shared_ptr<metrics::engine_metrics> metrics;
  stage stage({.grammars = {.max_mask_steps = 1'000, .mask_steps_per_token = 1},
               .adjust = [&](supervisor_parts& parts) { metrics = parts.metrics; }});
  const auto ambiguous = std::make_shared<const grammar_spec>(
      grammar_spec{.kind = grammar_kind::grammar, .text = "root ::= root root | [a-z]"});
  const auto who = stage.ask("hello", held_to(ambiguous, 50));
  stage.run();
  ASSERT_EQ(who->ends.size(), 1U);
  ASSERT_TRUE(who->ends[0].failure.has_value()) << who->text;
  EXPECT_EQ(who->ends[0].failure->param, "mask_steps_per_token");
  EXPECT_EQ(metrics::exposition(metrics->text()).sum("troupe_grammar_masks_refused_total"), 1);
  EXPECT_EQ(metrics::exposition(metrics->text()).sum("troupe_grammars_refused_total"), 0);
  const auto again = stage.ask("hello", held_to(ambiguous, 3));
  stage.run();
  EXPECT_EQ(again->text.size(), 3U);
  stage.expect_idle();
}

TEST(StructuredOutput, AbortAfterAnyMessageEndsTheStreamOnceAndFreesEverything) {
  for (std::size_t messages = 0; messages < 60; messages += 2) {
    stage stage({.max_steps_in_flight = 2});
    const auto who = stage.ask("hello", held_to(regex("[a-z]*"), 20));
    const auto other = stage.ask("hello", held_to(regex("[0-9]{4}")));
    stage.run(messages);
    stage.abort(*who);
    stage.run();
    ASSERT_EQ(who->ends.size(), 1U) << messages;
    EXPECT_EQ(who->events_after_end, 0U);
    EXPECT_EQ(other->text.size(), 4U);
    stage.expect_idle();
  }
}

TEST(StructuredOutput, ADeadlineEndsARequestInAnyState) {
  for (std::size_t messages = 0; messages < 40; messages += 2) {
    stage stage({.request_timeout = std::chrono::seconds(5)});
    const auto who = stage.ask("hello", held_to(regex("[a-z]*"), 20));
    stage.run(messages);
    stage.advance(std::chrono::seconds(6));
    stage.run();
    ASSERT_EQ(who->ends.size(), 1U) << messages;
    stage.expect_idle();
  }
}

TEST(StructuredOutput, AStopStringEndsARequestWithinItsGrammar) {
  stage stage;
  sampling_params sampling = held_to(regex("[a-z]*"), 20);
  sampling.stop = {"jk"};
  const auto who = stage.ask("hello", sampling);
  stage.run();
  EXPECT_EQ(who->text, "fghi");
  stage.expect_idle();
}

TEST(StructuredOutput, AStepThatThrowsIsComputedAgain) {
  int throws = 0;
  stage stage({.max_steps_in_flight = 2, .before_step = [&](const device_batch&) {
                 if (--throws == 0) throw std::runtime_error("on purpose");
               }});
  const auto alone = stage.ask("hello", held_to(regex("[0-9]{9}")));
  stage.run();
  for (int step = 1; step <= 9; ++step) {
    throws = step;
    const auto held = stage.ask("hello", held_to(regex("[0-9]{9}")));
    const auto free = stage.ask("hello", 9);
    stage.run();
    EXPECT_EQ(held->tokens, alone->tokens) << step;
    EXPECT_EQ(free->tokens.size(), 9U);
    stage.advance(std::chrono::minutes(2));
  }
  stage.expect_idle();
}

TEST(StructuredOutput, TheDeathOfAnyActorEndsEveryStreamOnceAndTheNextRequestIsServed) {
  struct victim {
    std::function<void(stage&)> kill;
    bool loses_held;  // the requests that have a grammar
    bool loses_free;
  };
  const std::map<std::string, victim> victims{
      {"structured_output", {[](stage& s) { s.kill(s.roster().structured_output); }, true, false}},
      {"quick grammar_compiler", {[](stage& s) { s.kill(s.roster().compilers.quick); }, true, false}},
      {"patient grammar_compiler", {[](stage& s) { s.kill(s.roster().compilers.patient); }, false, false}},
      {"model_runner", {[](stage& s) { s.kill(s.roster().model_runner); }, false, false}},
      {"kv_cache", {[](stage& s) { s.kill(s.roster().kv_cache); }, false, false}},
      {"scheduler", {[](stage& s) { s.kill(s.roster().scheduler); }, true, true}}};
  for (const auto& [name, given] : victims) {
    for (std::size_t messages = 0; messages <= 60; ++messages) {
      SCOPED_TRACE(name + " after " + std::to_string(messages));
      stage stage;
      const auto held = stage.ask("hello", held_to(regex("[0-9]{5}")));
      const auto free = stage.ask("hello", 5);
      stage.run(messages);
      given.kill(stage);
      stage.run();
      for (const auto& [who, may_fail] :
           {std::pair(held, given.loses_held), std::pair(free, given.loses_free)}) {
        ASSERT_EQ(who->ends.size(), 1U);
        EXPECT_EQ(who->events_after_end, 0U);
        if (!may_fail || who->ends[0].reason != finish_reason::error) {
          EXPECT_EQ(who->text.size(), 5U);
        }
      }
      const auto next = stage.ask("hello", held_to(regex("[0-9]{5}")));
      stage.run();
      EXPECT_EQ(next->text.size(), 5U);
      EXPECT_TRUE(stage.status().live && stage.status().ready);
      stage.expect_idle();
    }
  }
}

}  // namespace
}  // namespace troupe::test
