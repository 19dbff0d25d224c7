// A draft model in the company: the same tokens with it as without, whatever it guesses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "actors/start/kept_tuning.hpp"
#include "actors/start/load_engine.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "tests/actors/drafter/draft_model_fixture.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

struct played {
  std::vector<std::vector<token_id>> answers;
  double questions = 0;       // how they go on: to the runner
  double late_questions = 0;  // of these, those that came when all but the last request had ended
  double steps = 0;
  msg::request_counts counts;
};

// Some requests at once, greedy and seeded, long and short; one of them is aborted midway.
played play(const std::optional<draft_setup>& with) {
  std::weak_ptr<draft_model> drafts;  // of the runner that was opened last
  stage stage(draft_model_setup(with, drafts));
  std::vector<std::shared_ptr<client>> clients;
  for (std::int32_t i = 0; i < 6; ++i) {
    sampling_params sampling = greedy(40 + i);
    sampling.ignore_eos = true;
    if (i % 2 == 1) {
      sampling.temperature = 0.9F;
      sampling.seed = static_cast<std::uint64_t>(i);
    }
    if (i == 3) sampling.frequency_penalty = 0.6F;
    clients.push_back(
        stage.ask(std::string(static_cast<std::size_t>(10 + 30 * i), static_cast<char>('c' + i)), sampling));
  }
  if (with && with->dies_after > 0) {
    stage.run(with->dies_after);
    stage.kill(stage.roster().drafter);
  }
  if (with && with->loses_after > 0) {
    stage.run(with->loses_after);
    while (!stage.lose_message(stage.roster().model_runner)) stage.run(1);
    stage.run();
    stage.take_stock();
  }
  stage.run();
  const double questions_before = stage.messages_of("model_runner", "propose_drafts");
  const auto leaves = stage.ask("somebody who does not stay", 200);
  stage.run(400);
  stage.abort(*leaves);
  stage.run();
  played out;
  for (const auto& who : clients) {
    EXPECT_EQ(who->ends.size(), 1U);
    out.answers.push_back(who->tokens);
  }
  out.counts = *stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{});
  out.questions = stage.messages_of("model_runner", "propose_drafts");
  out.late_questions = out.questions - questions_before;
  out.steps = stage.messages_of("model_runner", "run_step");
  if (const auto model = drafts.lock()) {
    EXPECT_EQ(model->num_requests(), 0U);
  }
  stage.expect_idle();
  return out;
}

TEST(DraftModelActors, TheDeathOfTheDrafterAtAnyMomentCostsNobodyAnything) {
  const played plain = play({});
  for (std::size_t after = 60; after < 120; after += 3)
    EXPECT_EQ(play(draft_setup{.dies_after = after}).answers, plain.answers) << after;
}

// A question that is lost is never answered: the next runner is asked all the same.
TEST(DraftModelActors, AMessageToItsRunnerThatIsLostHoldsNobodyUp) {
  const played plain = play({});
  for (std::size_t after = 60; after < 120; after += 3) {
    SCOPED_TRACE(after);
    const played drafted = play(draft_setup{.loses_after = after});
    EXPECT_EQ(drafted.answers, plain.answers);
    EXPECT_GT(drafted.late_questions, 5);
  }
}

TEST(DraftModelActors, AnEqualModelIsAlwaysRight) {
  const played plain = play({});
  const played drafted = play(draft_setup{});
  EXPECT_EQ(drafted.answers, plain.answers);
  EXPECT_GT(drafted.counts.draft_tokens, 100U);
  EXPECT_EQ(drafted.counts.accepted_tokens, drafted.counts.draft_tokens);
}

TEST(DraftModelActors, ASingleTokenIsDraftedAStepAheadAsWell) {
  const played drafted = play(draft_setup{.num_tokens = 1});
  EXPECT_EQ(drafted.answers, play({}).answers);
  EXPECT_GT(drafted.counts.draft_tokens, 60U);
  EXPECT_EQ(drafted.counts.accepted_tokens, drafted.counts.draft_tokens);
}

TEST(DraftModelActors, AnotherModelChangesNoToken) {
  const played drafted = play(draft_setup{.seed = 2});
  EXPECT_EQ(drafted.answers, play({}).answers);
  EXPECT_GT(drafted.counts.draft_tokens, drafted.counts.accepted_tokens);
}

TEST(DraftModelActors, SeededAndGreedyRequestsHaveTheSameTokensWhateverIsChosenForOthers) {
  const played drafted = play(draft_setup{.seed = 2, .method = rejection_method::probabilistic});
  EXPECT_EQ(drafted.answers, play({}).answers);
  EXPECT_GT(drafted.counts.draft_tokens, drafted.counts.accepted_tokens);
}

TEST(DraftModelActors, PreemptionAndADraftModelWithLittleRoomChangeNoToken) {
  const played drafted = play(draft_setup{.num_blocks = 32, .draft_blocks = 12});
  EXPECT_EQ(drafted.answers, play({}).answers);
  EXPECT_GT(drafted.counts.preemptions, 0U);
  EXPECT_GT(drafted.counts.accepted_tokens, 0U);
}

TEST(DraftModelActors, ADraftModelThatFailsEndsItsDraftsAndNoRequest) {
  const played drafted = play(draft_setup{.good_steps = 10, .warm_up = warm_up_mode::skip});
  EXPECT_EQ(drafted.answers, play({}).answers);
  EXPECT_GT(drafted.counts.accepted_tokens, 0U);
}

TEST(DraftModelActors, ADeviceThatOverlapsIsAskedForWholeStepsOnceItsDraftModelIsGone) {
  const auto with_drafts = std::make_shared<int>(0);
  const auto without = std::make_shared<int>(0);
  draft_setup setup{.warm_up = warm_up_mode::skip, .collected = with_drafts};
  const played drafted = play(setup);
  EXPECT_EQ(*with_drafts, 0);
  setup.good_steps = 10;
  setup.collected = without;
  EXPECT_EQ(play(setup).answers, drafted.answers);
  EXPECT_GT(*without, 10);
}

TEST(DraftModelActors, ADraftModelThatFailsInTheWarmUpDraftsNothing) {
  const played drafted = play(draft_setup{.good_steps = 0, .warm_up = warm_up_mode::full});
  EXPECT_EQ(drafted.answers, play({}).answers);
  EXPECT_EQ(drafted.counts.draft_tokens, 0U);
  EXPECT_GT(drafted.steps, 30.0);
  EXPECT_LT(drafted.questions, drafted.steps / 2) << "nobody waits for what is gone";
}

TEST(DraftModelActors, BothModelsAreTunedAtTheStartAndWhatIsChosenIsKept) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "both-models-tuning";
  std::filesystem::remove_all(folder);
  for (const bool is_kept : {false, true}) {
    company_setup setup;
    setup.max_num_batched_tokens = 64;
    setup.max_model_len = 256;
    setup.warm_up = warm_up_mode::full;
    std::shared_ptr<draft_model> draft;
    setup.adjust = [&](supervisor_parts& parts) {
      parts.device.target = device_of_tiny(1, 200);
      parts.steps.tuned_for = tuning_key_of(*parts.device.target, 1);
      parts.steps.tuning_file = folder / "model.json";
      const bool has_plans =
          use_kept_tuning(*parts.device.target, parts.steps.tuned_for, parts.steps.tuning_file);
      EXPECT_EQ(has_plans, is_kept);
      parts.steps.tune = true;
      parts.drafts.emplace();
      parts.drafts->config.method = speculative_method::draft_model;
      draft_model_options options;
      options.max_rows = 64;
      options.max_sequences = 8;
      options.max_model_len = 256;
      options.vocab_size = 300;
      const std::shared_ptr<executor> device = device_of_tiny(2, 200);
      draft = std::make_shared<draft_model>(
          device, options, draft_tuning{true, tuning_key_of(*device, 1), folder / "draft.json"});
      parts.device.draft = draft;
    };
    stage stage(setup);
    EXPECT_TRUE(stage.status().ready);
    EXPECT_TRUE(std::filesystem::exists(folder / "model.json"));
    EXPECT_TRUE(std::filesystem::exists(folder / "draft.json"));
    const auto answer = stage.ask("somebody", 5);
    stage.run();
    EXPECT_EQ(answer->ends.size(), 1U);
  }
  std::filesystem::remove_all(folder);
}

TEST(DraftModelActors, AFileIsLoadedWithRoomForAsManyTokensAsTheModelHas) {
  const temporary_file target(tiny_model());
  const temporary_file draft(tiny_model({.seed = 2, .num_layers = 1}));
  engine_options options;
  options.model_path = target.path();
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 64;
  options.kv_cache_bytes = std::size_t{4} << 20U;
  options.threads = 1;
  EXPECT_FALSE(load_engine(options)->draft);
  options.draft = {.method = speculative_method::draft_model, .model = draft.path()};
  const auto loaded = load_engine(options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->draft->layout().num_blocks, loaded->device->layout().num_blocks);
  EXPECT_LT(loaded->draft->layout().bytes_per_block, loaded->device->layout().bytes_per_block);
}

TEST(DraftModelActors, ADraftModelThatDoesNotOpenAgainEndsItsDraftsAlone) {
  const temporary_file target(tiny_model());
  const temporary_file draft(tiny_model({.seed = 2, .num_layers = 1}));
  const std::filesystem::path only_one = std::filesystem::path(testing::TempDir()) / "only_one_executor";
  std::filesystem::remove(only_one);
  engine_options options;
  options.model_path = target.path();
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 64;
  options.kv_cache_bytes = std::size_t{4} << 20U;
  options.threads = 1;
  options.draft = {.method = speculative_method::draft_model, .model = draft.path()};
  options.isolation = {runner_program_path(), {"runner", "one:" + only_one.string()}};
  const auto loaded = load_engine(options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->draft);
  EXPECT_TRUE(loaded->open_device(true)->draft);
  std::ofstream(only_one) << "from now on";
  const auto again = loaded->open_device(true);
  std::filesystem::remove(only_one);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->target);
  EXPECT_FALSE(again->draft);
}

TEST(DraftModelActors, AFileOfAnotherVocabularyAndOneThatIsNotThereAreRefusedByName) {
  const temporary_file target(tiny_model());
  const temporary_file other(tiny_model({.kind = tiny_kind::mistral}));
  engine_options options;
  options.model_path = target.path();
  options.kv_cache_bytes = std::size_t{4} << 20U;
  options.threads = 1;
  for (const std::string& path : {other.path(), std::string("no-such-file.gguf")}) {
    options.draft = {.method = speculative_method::draft_model, .model = path};
    const auto loaded = load_engine(options);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().param, "speculative_config");
    EXPECT_NE(loaded.error().message.find(path), std::string::npos) << loaded.error().message;
  }
}

}  // namespace
}  // namespace troupe::test
