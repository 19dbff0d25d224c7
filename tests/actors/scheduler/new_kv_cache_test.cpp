// What a KV cache that takes the place of another knows of the requests that are open.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

const std::string prompt = "twenty-one characters";

// The rows that compute this prompt but for its last token, while it lives.
struct prompt_rows {
  std::int64_t rows = 0;
  std::int64_t steps = 0;
  void operator()(const device_batch& batch) {
    const bool is_warm_up = batch.step == 0;
    if (is_warm_up) return;
    ++steps;
    rows += std::ranges::count_if(batch.positions, [](std::int32_t position) {
      return position + 1 < static_cast<std::int32_t>(prompt.size());
    });
  }
};

void run_to_a_step(stage& stage, const prompt_rows& seen) {
  const std::int64_t before = seen.steps;
  while (seen.steps == before) ASSERT_EQ(stage.run(1), 1U);
}

void replace_kv_cache(stage& stage) {
  stage.kill(stage.roster().kv_cache);
  stage.run();
}

std::string alphabet(std::size_t from, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>('a' + (from + i) % 26);
  return out;
}

// What eight answers to it take, if the KV cache ends after the first step.
std::int64_t rows_of_answers(bool ends) {
  prompt_rows computed;
  stage stage({.max_num_batched_tokens = 8,
               .enable_prefix_caching = false,
               .tokenizer_workers = 1,
               .before_step = [&](const device_batch& batch) { computed(batch); }});
  const auto answers = stage.ask_choices(prompt, greedy(6), 8);
  run_to_a_step(stage, computed);
  if (ends) stage.kill(stage.roster().kv_cache);
  stage.run();
  for (const auto& answer : answers) EXPECT_EQ(answer->text, alphabet(prompt.size(), 6));
  stage.expect_idle();
  return computed.rows;
}

// The first of them has begun with the prompt; the others wait until it is done with it.
TEST(NewKvCache, TheAnswersToOnePromptShareItAgain) {
  const std::int64_t begun = 16;  // by the steps that may be in flight
  EXPECT_LE(rows_of_answers(true), rows_of_answers(false) + begun);
}

TEST(NewKvCache, WhoeverWaitedFindsThePrefixesOfOthers) {
  prompt_rows computed;
  stage stage({.max_num_seqs = 1, .before_step = [&](const device_batch& batch) { computed(batch); }});
  const auto first = stage.ask(prompt, 6);
  const auto waits = stage.ask(prompt, 6);
  run_to_a_step(stage, computed);
  const double hits = stage.metric("vllm:prefix_cache_hits_total");
  replace_kv_cache(stage);
  EXPECT_EQ(stage.metric("vllm:prefix_cache_hits_total") - hits, 20) << "five blocks of the second one";
  EXPECT_EQ(first->text, alphabet(prompt.size(), 6));
  EXPECT_EQ(waits->text, first->text);
  stage.expect_idle();
}

// It is told the tokens that the one before knew, and the next ones come behind them.
TEST(NewKvCache, WhatWasAnsweredBeforeIsAPrefixOfWhatFollows) {
  for (int steps = 1; steps <= 12; ++steps) {
    prompt_rows computed;
    stage stage({.before_step = [&](const device_batch& batch) { computed(batch); }});
    const auto first = stage.ask(prompt, 16);
    for (int step = 0; step < steps; ++step) run_to_a_step(stage, computed);
    replace_kv_cache(stage);
    ASSERT_EQ(first->text, alphabet(prompt.size(), 16)) << steps;
    const double hits = stage.metric("vllm:prefix_cache_hits_total");
    const auto next = stage.ask(prompt + first->text, 1);
    stage.run();
    EXPECT_EQ(stage.metric("vllm:prefix_cache_hits_total") - hits, 36) << "nine blocks; after step " << steps;
    stage.expect_idle();
  }
}

}  // namespace
}  // namespace troupe::test
