// Requests that are held to grammars, in the engine without actors.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/engine/engine.hpp"
#include "runtime/executor/null_executor.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"
#include "tests/support/list_tokenizer.hpp"

namespace troupe {
namespace {

constexpr token_id end_token = 256;

// Anything at all, by seed and position.
token_id scripted(const sample_row& row) {
  const std::uint64_t hash =
      (row.sampling->seed * 1'000'003 + static_cast<std::uint64_t>(row.position)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<token_id>((hash >> 40U) % 257);
}

struct setup {
  std::int32_t num_blocks = 200;
  std::int32_t steps_in_flight = 1;
  bool forces = false;
  std::uint64_t mask_steps_per_step = grammar::usual_mask_steps_per_step;
};
engine make_engine(const setup& of = {}) {
  scheduler_limits limits;
  limits.max_num_seqs = 6;
  limits.max_num_batched_tokens = 24;
  limits.max_model_len = 100;
  limits.end_tokens = {end_token};
  limits.max_steps_in_flight = of.steps_in_flight;
  limits.enable_prefix_caching = true;
  return {make_null_executor({.block_size = 4, .num_blocks = of.num_blocks}, scripted),
          limits,
          {.vocabulary = grammar::byte_token_trie(),
           .spells_forced = of.forces ? test::byte_tokenizer() : nullptr,
           .mask_steps_per_step = of.mask_steps_per_step}};
}

engine_request request(request_id id, std::optional<grammar_spec> spec, sampling_params params = {}) {
  params.seed = id;
  params.max_tokens = params.max_tokens.value_or(40);
  if (spec) params.grammar = std::make_shared<const grammar_spec>(std::move(*spec));
  return {.id = id,
          .prompt = std::vector<token_id>(1 + id * 7 % 20, static_cast<token_id>(id)),
          .sampling = std::make_shared<const sampling_params>(std::move(params))};
}

struct answer {
  std::vector<token_id> tokens;
  finish_reason reason = finish_reason::abort;
  std::optional<error> failure;
  friend bool operator==(const answer& a, const answer& b) {
    return a.tokens == b.tokens && a.reason == b.reason;
  }
};
// Gives the number of steps.
std::size_t run_to_the_end(engine& engine, std::map<request_id, answer>& answers) {
  std::size_t steps = 0;
  for (; !engine.idle(); ++steps) {
    for (const token_event& event : engine.step()) {
      answer& own = answers[event.id];
      own.tokens.insert(own.tokens.end(), event.tokens.begin(), event.tokens.end());
      if (!event.end) continue;
      own.reason = event.end->reason;
      own.failure = event.end->failure;
    }
  }
  return steps;
}
std::map<request_id, answer> run_to_the_end(engine& engine) {
  std::map<request_id, answer> answers;
  run_to_the_end(engine, answers);
  return answers;
}

std::vector<grammar_spec> specs() {
  return {{.kind = grammar_kind::regex, .text = "[a-z]+@[a-z]+\\.(com|org)"},
          {.kind = grammar_kind::json_schema,
           .text = R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],
                       "additionalProperties":false})",
           .json = {.max_white_space = 0}},
          {.kind = grammar_kind::choice, .choices = {"yes", "no", "perhaps"}},
          {.kind = grammar_kind::grammar, .text = "root ::= \"(\" root \")\" | [0-9]"}};
}

TEST(engine_grammar, a_request_has_the_same_tokens_alone_and_in_any_crowd) {
  constexpr request_id count = 24;
  const auto nth = [](request_id id) {
    const auto all = specs();
    return id % 5 == 0 ? request(id, std::nullopt) : request(id, all[id % all.size()]);
  };
  std::map<request_id, answer> alone;
  for (request_id id = 1; id <= count; ++id) {
    engine engine = make_engine();
    ASSERT_TRUE(engine.submit(nth(id)));
    alone[id] = run_to_the_end(engine).at(id);
  }
  for (const setup& each :
       {setup{200, 1}, setup{200, 2}, setup{200, 5}, setup{25, 1}, setup{25, 2}, setup{25, 4}}) {
    engine engine = make_engine(each);
    for (request_id id = 1; id <= count; ++id) ASSERT_TRUE(engine.submit(nth(id)));
    const auto crowd = run_to_the_end(engine);
    for (request_id id = 1; id <= count; ++id)
      EXPECT_EQ(crowd.at(id), alone.at(id)) << id << " with " << each.num_blocks << " blocks";
    EXPECT_EQ(each.num_blocks<200, engine.scheduler().counts().preemptions> 0);
  }
}

TEST(engine_grammar, rows_that_are_withheld_and_computed_again_have_the_same_tokens) {
  const auto all = specs();
  std::map<request_id, answer> expected;
  for (const std::uint64_t most : {grammar::usual_mask_steps_per_step, std::uint64_t{1}, std::uint64_t{10}}) {
    for (const setup& each : {setup{200, 1, false, most}, setup{200, 3, true, most}, setup{25, 1, true, most},
                              setup{25, 2, false, most}, setup{25, 5, true, most}}) {
      engine engine = make_engine(each);
      for (request_id id = 1; id <= 24; ++id)
        ASSERT_TRUE(
            engine.submit(request(id, id % 5 == 0 ? std::nullopt : std::optional(all[id % all.size()]))));
      const auto got = run_to_the_end(engine);
      if (expected.empty()) expected = got;
      EXPECT_EQ(got, expected) << most << " steps of masks a step, " << each.num_blocks << " blocks";
      const std::uint64_t withheld = engine.scheduler().counts().withheld_samples;
      EXPECT_EQ(withheld > 10, most < grammar::usual_mask_steps_per_step) << withheld;
      EXPECT_EQ(engine.kv_cache().check(), "");
    }
  }
}

// Spelled byte by byte there is one spelling only: what is forced is what would be sampled.
TEST(engine_grammar, forced_tokens_are_those_that_would_be_sampled_and_take_fewer_steps) {
  const auto all = specs();
  std::map<request_id, answer> answers[2];
  std::size_t steps[2] = {0, 0};
  for (const bool forces : {false, true}) {
    for (const std::int32_t in_flight : {1, 2, 5}) {
      engine engine = make_engine({.num_blocks = 25, .steps_in_flight = in_flight, .forces = forces});
      for (request_id id = 1; id <= 24; ++id)
        ASSERT_TRUE(engine.submit(request(id, all[id % all.size()], {.max_tokens = 5 + 2 * id % 30})));
      std::map<request_id, answer> got;
      steps[forces ? 1 : 0] += run_to_the_end(engine, got);
      if (answers[forces ? 1 : 0].empty()) answers[forces ? 1 : 0] = got;
      EXPECT_EQ(got, answers[0]) << in_flight << " steps in flight, forced: " << forces;
      EXPECT_EQ(engine.scheduler().counts().forced_tokens > 20, forces);
      EXPECT_EQ(engine.kv_cache().check(), "");
    }
  }
  EXPECT_LT(steps[1], steps[0]);
}

TEST(engine_grammar, forced_tokens_that_were_never_computed_are_not_found_in_the_cache) {
  engine engine = make_engine({.forces = true});
  const grammar_spec spec{.kind = grammar_kind::regex, .text = "[ab]cdefghijklmnopqrst[xy]"};
  const engine_request first = request(1, spec);
  ASSERT_TRUE(engine.submit(first));
  std::vector<token_id> known = first.prompt;
  while (known.size() < first.prompt.size() + 10) {
    const token_batch& events = engine.step();
    for (const token_event& event : events)
      known.insert(known.end(), event.tokens.begin(), event.tokens.end());
  }
  engine.abort(1);
  engine_request second = request(2, std::nullopt);
  second.prompt = known;
  ASSERT_TRUE(engine.submit(second));
  std::int32_t cached = -1;
  while (cached < 0)
    for (const token_event& event : engine.step()) cached = event.details ? event.details->cached_tokens : 0;
  EXPECT_LE(cached, static_cast<std::int32_t>(first.prompt.size()) + 1);
  EXPECT_GT(cached, 0);
}

TEST(engine_grammar, what_ends_by_itself_is_a_text_of_its_grammar) {
  engine engine = make_engine();
  const auto all = specs();
  for (request_id id = 0; id < 40; ++id)
    ASSERT_TRUE(engine.submit(request(id + 1, all[id % all.size()], {.max_tokens = 80})));
  std::size_t whole = 0;
  for (const auto& [id, got] : run_to_the_end(engine)) {
    if (got.reason != finish_reason::stop) continue;
    ++whole;
    std::string text;
    for (const token_id token : got.tokens)
      if (token != end_token) text.push_back(static_cast<char>(token));
    const auto grammar = *grammar::compile(all[(id - 1) % all.size()], grammar::byte_token_trie(), {});
    EXPECT_EQ(grammar::test::accepts(grammar, text), true) << text;
  }
  EXPECT_GT(whole, 15U);
}

TEST(engine_grammar, the_end_of_the_grammar_ends_the_request_whatever_else_is_asked_for) {
  engine engine = make_engine();
  const grammar_spec ab{.kind = grammar_kind::regex, .text = "ab"};
  ASSERT_TRUE(engine.submit(request(1, ab, {.min_tokens = 20})));
  ASSERT_TRUE(engine.submit(request(2, ab, {.ignore_eos = true})));
  ASSERT_TRUE(engine.submit(request(3, ab, {.max_tokens = 1})));
  ASSERT_TRUE(engine.submit(request(4, ab, {.stop_token_ids = {'b'}})));
  const auto answers = run_to_the_end(engine);
  const std::vector<token_id> whole{'a', 'b', end_token};
  EXPECT_EQ(answers.at(1), (answer{whole, finish_reason::stop, {}}));
  EXPECT_EQ(answers.at(2), (answer{whole, finish_reason::stop, {}}));
  EXPECT_EQ(answers.at(3), (answer{{'a'}, finish_reason::length, {}}));
  EXPECT_EQ(answers.at(4), (answer{{'a', 'b'}, finish_reason::stop, {}}));
}

TEST(engine_grammar, a_grammar_that_is_refused_or_cannot_be_spelled_ends_that_request_alone) {
  engine engine = make_engine({.steps_in_flight = 2});
  const auto refused = engine.submit(request(1, grammar_spec{.kind = grammar_kind::regex, .text = "("}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::invalid_argument);
  ASSERT_TRUE(engine.submit(request(2, specs()[2])));
  EXPECT_EQ(run_to_the_end(engine).at(2).reason, finish_reason::stop);

  std::vector<grammar::vocabulary_token> letters(257);
  letters['a'].bytes = "a";
  letters['b'].bytes = "b";
  letters['c'].bytes = "cc";
  letters[256] = {"", false, true};
  scheduler_limits limits;
  limits.max_model_len = 100;
  limits.end_tokens = {end_token};
  limits.max_steps_in_flight = 3;
  class engine poor(make_null_executor({.block_size = 4, .num_blocks = 40}, scripted), limits,
                    {.vocabulary = grammar::make_token_trie(letters)});
  const auto never = poor.submit(request(4, grammar_spec{.kind = grammar_kind::regex, .text = "abd"}));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, error_code::invalid_argument);
  EXPECT_EQ(never.error().message,
            "grammar: no text belongs to it; no token of the vocabulary has the byte 0x64 of a text or a "
            "character of it");
  ASSERT_TRUE(poor.submit(request(1, grammar_spec{.kind = grammar_kind::regex, .text = "abc"})));
  ASSERT_TRUE(poor.submit(request(2, grammar_spec{.kind = grammar_kind::regex, .text = "ab"})));
  ASSERT_TRUE(poor.submit(request(3, std::nullopt, {.max_tokens = 5, .ignore_eos = true})));
  const auto answers = run_to_the_end(poor);
  EXPECT_EQ(answers.at(1).reason, finish_reason::error);
  EXPECT_EQ(answers.at(1).tokens, (std::vector<token_id>{'a', 'b'}));
  EXPECT_EQ(answers.at(1).failure->code, error_code::invalid_argument);
  EXPECT_EQ(answers.at(2).reason, finish_reason::stop);
  EXPECT_EQ(answers.at(3).tokens.size(), 5U);
  EXPECT_EQ(poor.kv_cache().free_blocks(), 40);
}

TEST(engine_grammar, without_a_vocabulary_no_request_is_held_to_a_grammar) {
  engine engine(make_null_executor({.block_size = 4, .num_blocks = 20}, scripted), {.max_model_len = 50});
  EXPECT_EQ(engine.submit(request(1, specs()[0])).error().code, error_code::unsupported);
  EXPECT_TRUE(engine.idle());
}

}  // namespace
}  // namespace troupe
