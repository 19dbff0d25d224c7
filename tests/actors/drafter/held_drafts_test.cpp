// Drafts of requests that have grammars: what a grammar does not have takes no row of any step.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "actors/grammars/structured_output.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/support/toy_device.hpp"

namespace troupe::test {
namespace {

const std::string repeated_prompt = "abcdabcdabcdabcd";
// Goes on like the prompt, and then no more.
const std::string held_answer = "abcdabcdabcd00000000";

// Whether such a text has this token at this place of the output.
bool has_in_place(std::int32_t place, token_id token) {
  const auto at = static_cast<std::size_t>(place);
  if (at >= held_answer.size()) return at == held_answer.size() && token == end_token;
  return at < 12 ? token == held_answer[at] : token >= '0' && token <= '9';
}

sampling_params held_like_that(std::int32_t max_tokens = 40) {
  sampling_params sampling = greedy(max_tokens);
  sampling.grammar = std::make_shared<const grammar_spec>(
      grammar_spec{.kind = grammar_kind::regex, .text = "(abcd){3}[0-9]{8}"});
  return sampling;
}

// What the drafts of a company's steps were.
struct drafted_rows {
  std::uint64_t of_held = 0;  // with a grammar
  std::uint64_t refused = 0;  // of these, those that it does not have
  std::uint64_t of_others = 0;
};

void note_drafts(const device_batch& batch, drafted_rows& rows) {
  for (const draft_samples& each : batch.drafts) {
    for (std::int32_t i = 1; i <= each.count; ++i) {
      const sample_row& sample = batch.samples[static_cast<std::size_t>(each.first + i)];
      if (!sample.sampling->grammar) {
        ++rows.of_others;
        continue;
      }
      ++rows.of_held;
      const token_id token = batch.tokens[static_cast<std::size_t>(sample.row)];
      if (!has_in_place(sample.num_generated - 1, token)) ++rows.refused;
    }
  }
}

// Without a grammar everybody repeats the prompt for ever.
company_setup repeating_company(std::int32_t max_steps_in_flight, bool drafts = true) {
  company_setup setup;
  setup.max_steps_in_flight = max_steps_in_flight;
  setup.script = [](const sample_row& row) { return 'a' + row.position % 4; };
  setup.adjust = [drafts](supervisor_parts& parts) {
    if (!drafts) return;
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::ngram;
    parts.drafts->config.num_speculative_tokens = 8;
    parts.drafts->config.adaptive = false;
  };
  return setup;
}

double filter_questions(stage& on) { return on.messages_of("structured_output", "filter_drafts"); }
double refused_tokens(stage& on) { return on.metric("troupe_grammar_refused_draft_tokens_total"); }

TEST(HeldDrafts, TakeNoRowForWhatTheGrammarDoesNotHaveAndChangeNoToken) {
  stage alone(repeating_company(1, false));
  const auto without = alone.ask(repeated_prompt, held_like_that());
  alone.run();
  ASSERT_EQ(without->text, held_answer);
  drafted_rows rows;
  double cut = 0;
  std::uint64_t accepted = 0;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const drafted_rows before = rows;
    company_setup setup = repeating_company(1 + static_cast<std::int32_t>(seed % 4));
    setup.before_step = [&rows](const device_batch& batch) { note_drafts(batch, rows); };
    stage stage(setup);
    std::vector<std::shared_ptr<client>> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(stage.ask(repeated_prompt, held_like_that()));
    const auto free = stage.ask(repeated_prompt, 40);
    while (seed == 0 ? stage.run(1) > 0 : stage.run_any(random())) {
    }
    for (const auto& who : clients) EXPECT_EQ(who->tokens, without->tokens);
    EXPECT_EQ(free->tokens.size(), 40U);
    EXPECT_EQ(rows.refused, 0U);
    const auto counts = stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{});
    EXPECT_EQ(counts->draft_tokens, rows.of_held - before.of_held + rows.of_others - before.of_others);
    accepted += counts->accepted_tokens;
    cut += refused_tokens(stage);
    stage.expect_idle();
  }
  // An answer may come too late to be of use.
  EXPECT_GT(rows.of_held, 200U);
  EXPECT_GT(rows.of_others, 200U);
  EXPECT_GT(accepted, 400U);
  EXPECT_GT(cut, 100);
}

TEST(HeldDrafts, AreAskedAboutOnlyWhereThereAreAny) {
  stage stage(repeating_company(2));
  const auto free = stage.ask(repeated_prompt, 40);
  stage.run();
  EXPECT_EQ(filter_questions(stage), 0);
  const auto who = stage.ask(repeated_prompt, held_like_that());
  const auto new_ground = stage.ask("#", held_like_that(3));  // nothing to repeat
  stage.run();
  EXPECT_GT(filter_questions(stage), 0);
  EXPECT_LE(filter_questions(stage), static_cast<double>(who->tokens.size()));
  EXPECT_EQ(new_ground->text, "abc");
  stage.expect_idle();
}

bool is_plain(token_id token) {
  return (token >= 'a' && token <= 'z') || (token >= '0' && token <= '9') || token == ' ';
}

class watched_executor final : public forwarding_executor {
 public:
  watched_executor(std::unique_ptr<executor> inner, std::function<void(const device_batch&)> before_step)
      : forwarding_executor(std::move(inner)), before_step_(std::move(before_step)) {}
  void forward(const device_batch& batch) override {
    before_step_(batch);
    forwarding_executor::forward(batch);
  }

 private:
  std::function<void(const device_batch&)> before_step_;
};

// The model speaks one language of bytes, the one that drafts for it another.
company_setup toy_company(rejection_method method, std::function<void(const device_batch&)> before_step) {
  company_setup setup;
  setup.max_steps_in_flight = 1;  // what leads up to a draft would hardly ever be right
  setup.adjust = [method, before_step](supervisor_parts& parts) {
    kv_layout layout;
    layout.block_size = 4;
    layout.num_blocks = 200;
    parts.device.target = std::make_shared<watched_executor>(
        std::make_unique<toy_device>(layout, toy_language(1, end_token + 1)), before_step);
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::draft_model;
    parts.drafts->config.adaptive = false;
    draft_model_options options;
    options.max_rows = 64;
    options.max_sequences = 8;
    options.max_model_len = 128;
    options.vocab_size = end_token + 1;
    options.rejection = method;
    parts.device.draft = std::make_shared<draft_model>(
        std::make_shared<toy_device>(layout, toy_language(2, end_token + 1)), options);
  };
  return setup;
}

// Of one that is accepted by chance the first token that the grammar does not have is verified all the same.
TEST(HeldDrafts, OfADraftModelEndWhereTheGrammarDoesHoweverTheyAreAccepted) {
  for (const auto method : {rejection_method::probabilistic, rejection_method::strict}) {
    const bool is_by_chance = method == rejection_method::probabilistic;
    std::uint64_t in_vain = 0;  // rows behind a draft that the grammar does not have
    company_setup setup = toy_company(method, [&in_vain](const device_batch& batch) {
      for (const draft_samples& each : batch.drafts) {
        for (std::int32_t i = 1; i < each.count; ++i) {
          const sample_row& sample = batch.samples[static_cast<std::size_t>(each.first + i)];
          const token_id token = batch.tokens[static_cast<std::size_t>(sample.row)];
          if (!is_plain(token) && token != end_token) ++in_vain;
        }
      }
    });
    stage stage(setup);
    std::vector<std::shared_ptr<client>> clients;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      sampling_params sampling = held_like_that(20);
      sampling.grammar = std::make_shared<const grammar_spec>(
          grammar_spec{.kind = grammar_kind::regex, .text = "[a-z0-9 ]*"});
      sampling.temperature = 0.9F;
      sampling.seed = seed;
      sampling.is_seeded = false;
      clients.push_back(stage.ask("ab", sampling));
    }
    stage.run();
    for (const auto& who : clients)
      for (const char c : who->text) EXPECT_TRUE(is_plain(c));
    const auto counts = stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{});
    const double by_chance = stage.metric("troupe_rejection_sampled_draft_tokens_total");
    EXPECT_EQ(by_chance, is_by_chance ? static_cast<double>(counts->draft_tokens) : 0);
    EXPECT_GT(filter_questions(stage), 5);
    EXPECT_GT(refused_tokens(stage), 60);
    EXPECT_EQ(in_vain, 0U);
    if (is_by_chance) {
      EXPECT_GT(by_chance, 20) << "the first that is refused is verified";
    }
    stage.expect_idle();
  }
}

TEST(HeldDrafts, LeaveNothingWaitingWhereTheirGrammarsEndOrMissAMessage) {
  int losses = 0;
  for (const bool is_lost : {false, true}) {
    for (std::size_t messages = 0; messages < 90; ++messages) {
      SCOPED_TRACE((is_lost ? "a message lost after " : "dead after ") + std::to_string(messages));
      stage stage(repeating_company(1 + static_cast<std::int32_t>(messages % 2)));
      const auto who = stage.ask(repeated_prompt, held_like_that());
      const auto free = stage.ask(repeated_prompt, 30);
      stage.run(messages);
      losses += stage.lose_message_or_kill(stage.roster().structured_output, is_lost) ? 1 : 0;
      ASSERT_EQ(who->ends.size(), 1U);
      if (who->ends[0].reason != finish_reason::error) {
        EXPECT_EQ(who->text, held_answer);
      }
      ASSERT_EQ(free->ends.size(), 1U);
      EXPECT_EQ(free->text.size(), 30U);
      const auto next = stage.ask(repeated_prompt, held_like_that());
      stage.run();
      EXPECT_EQ(next->text, held_answer);
      stage.expect_idle();
    }
  }
  EXPECT_GT(losses, 10);
}

// The scheduler waits for the answer alone, and not for long. Minutes pass before it asks again.
TEST(HeldDrafts, AreGivenUpWhereTheAnswerIsLost) {
  int losses = 0;
  stage stage(repeating_company(1));
  for (int i = 0; i < 3; ++i) {
    const auto who = stage.ask(repeated_prompt, held_like_that());
    const double before = filter_questions(stage);
    while (filter_questions(stage) == before && stage.run(1) > 0) {
    }
    losses += stage.lose_answer(stage.roster().scheduler) ? 1 : 0;
    stage.run();
    EXPECT_TRUE(who->ends.empty());
    stage.advance(std::chrono::milliseconds(60));
    stage.run();
    EXPECT_EQ(who->text, held_answer);
    for (int second = 0; second < 200; ++second) {
      stage.advance(std::chrono::seconds(1));
      stage.run();
    }
    // Whose drafts are good, so that the next ones are waited for.
    const auto free = stage.ask(repeated_prompt, 40);
    stage.run();
    EXPECT_EQ(free->tokens.size(), 40U);
  }
  EXPECT_EQ(losses, 3);
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
