// A device that is asked for the next step before the tokens of the one before are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/grammar/specification/grammar_spec.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

// The steps as they were asked for (positive) and collected (negative).
struct step_order {
  std::vector<std::int64_t> events;

  company_setup setup(std::optional<int> looks) {
    company_setup out{.follows_input = true};
    out.overlaps = looks;
    out.on_forward = [this](std::uint64_t step) { events.push_back(static_cast<std::int64_t>(step)); };
    out.on_collect = [this](std::uint64_t step) { events.push_back(-static_cast<std::int64_t>(step)); };
    return out;
  }
  // Those that were asked for before the step before them was collected.
  std::size_t overlapped() const {
    return static_cast<std::size_t>(std::ranges::count_if(events, [this](std::int64_t step) {
      const auto asked = std::ranges::find(events, step);
      const auto collected = std::ranges::find(events, -(step - 1));
      return step > 1 && collected != events.end() && asked < collected;
    }));
  }
};

// By turns: a coordinator that is left alone has the runner look for its tokens until they are there.
void run_by_turns(stage& stage, int most = 100000) {
  for (int i = 0; i < most && stage.run_any(static_cast<std::uint64_t>(i) * 7); ++i) {
  }
}

struct texts_of_a_crowd {
  std::vector<std::string> texts;
  std::size_t overlapped = 0;
};

texts_of_a_crowd serve(
    std::optional<int> looks, const std::function<void(sampling_params&)>& change,
    const std::function<void(company_setup&)>& change_company = [](company_setup&) {}) {
  step_order order;
  company_setup setup = order.setup(looks);
  change_company(setup);
  stage stage(std::move(setup));
  stage.run();
  order.events.clear();
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 5; ++i) {
    sampling_params params = greedy(20 + 5 * i);
    if (i % 2 == 1) change(params);
    clients.push_back(stage.ask(std::string(static_cast<std::size_t>(3 + i), 'c'), params));
    run_by_turns(stage, 60);
  }
  run_by_turns(stage);
  texts_of_a_crowd out;
  for (const auto& each : clients) {
    EXPECT_EQ(each->ends.size(), 1U);
    out.texts.push_back(each->text);
  }
  out.overlapped = order.overlapped();
  stage.expect_idle();
  return out;
}

TEST(OverlappedSteps, HaveTheTokensOfStepsThatWait) {
  const auto none = [](sampling_params&) {};
  const texts_of_a_crowd waiting = serve(std::nullopt, none);
  EXPECT_EQ(waiting.overlapped, 0U);
  EXPECT_EQ(waiting.texts[0], "defghijklmnopqrstuvw");
  for (const int looks : {0, 3, 40}) EXPECT_EQ(serve(looks, none).texts, waiting.texts) << looks;
}

TEST(OverlappedSteps, AreAskedForBeforeTheTokensAreThereThatTheyBeginWith) {
  EXPECT_GT(serve(40, [](sampling_params&) {}).overlapped, 20U);
}

// Each sequence takes more rows and each step more sequences than there are; histories are of such steps too.
TEST(OverlappedSteps, OverlapWhereTheyArePaddedToBucketsToo) {
  const auto pad = [](company_setup& setup) {
    setup.buckets = {.strategy = bucketing_strategy::exponential,
                     .prompt = {{2, 8, 32}, {4, 32, 32}},
                     .decode = {{4, 1, 32}, {8, 1, 32}}};
    setup.pad_to_buckets = true;
  };
  const auto penalty = [](sampling_params& params) { params.repetition_penalty = 1.0001F; };
  const texts_of_a_crowd waiting = serve(std::nullopt, penalty);
  const texts_of_a_crowd padded = serve(40, penalty, pad);
  EXPECT_EQ(padded.texts, waiting.texts);
  EXPECT_GT(padded.overlapped, 20U);
}

// A prompt in chunks: most of its steps draw nothing.
TEST(OverlappedSteps, OverlapWhereTheyDrawNothing) {
  step_order order;
  stage stage(order.setup(40));
  stage.run();
  order.events.clear();
  const auto who = stage.ask(std::string(120, 'c'), greedy(1));
  run_by_turns(stage);
  EXPECT_EQ(who->ends.size(), 1U);
  EXPECT_GE(order.overlapped(), 2U);
  stage.expect_idle();
}

// Such steps are drawn on the host, or wait for somebody else.
TEST(OverlappedSteps, StandBesideStepsThatWait) {
  const auto logprobs = [](sampling_params& params) { params.logprobs = 1; };
  const auto grammar = [](sampling_params& params) {
    params.grammar =
        std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = "[a-z]{40}"});
  };
  for (const int looks : {0, 3, 40}) {
    EXPECT_EQ(serve(looks, logprobs).texts, serve(std::nullopt, logprobs).texts);
    EXPECT_EQ(serve(looks, grammar).texts, serve(std::nullopt, grammar).texts);
  }
}

TEST(OverlappedSteps, LoseNoTokenWhereTheRunnerEnds) {
  step_order order;
  stage stage(order.setup(40));
  stage.run();
  const auto who = stage.ask("ccc", 30);
  run_by_turns(stage, 150);
  EXPECT_GT(order.overlapped(), 0U);
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(who->text, "defghijklmnopqrstuvwxyzabcdefg");
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
