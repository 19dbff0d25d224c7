#include "tests/runtime/drafting/equal_model_fixture.hpp"

#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "runtime/drafting/draft_model.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"

namespace troupe::test {
namespace {

std::vector<sampling_params> some_params() {
  sampling_params seeded;
  seeded.seed = 11;
  seeded.ignore_eos = true;
  sampling_params penalised = seeded;
  penalised.temperature = 0.7F;
  penalised.top_p = 0.9F;
  penalised.top_k = 40;
  penalised.frequency_penalty = 0.8F;
  penalised.logit_bias = {{5, 2.0F}};
  return {greedy(), seeded, penalised};
}

}  // namespace

void expect_right_drafts_of_an_equal_model(std::shared_ptr<executor> drafting, executor& target,
                                           std::int32_t vocab_size) {
  constexpr std::size_t at_once = 5;
  draft_model model(std::move(drafting), {.max_rows = 32,
                                          .max_sequences = 4,
                                          .max_model_len = 200,
                                          .vocab_size = vocab_size,
                                          .num_tokens = at_once});
  request_id id = 0;
  for (const sampling_params& params : some_params()) {
    const std::vector<token_id> prompt = {1, 20, 33, 47, 5, 90};
    executor_driver driver(target);
    const std::size_t sequence = driver.add(prompt, params);
    driver.generate(sequence, 31);
    const std::vector<token_id> answer = driver.output(sequence);
    model.open(++id, prompt, params);
    for (std::size_t known = 1; known + at_once < answer.size(); known += 3) {
      model.append(id, known == 1 ? std::span(answer).first(1) : std::span(answer).subspan(known - 3, 3));
      const std::vector<request_id> ids = {id};
      const draft guess = model.propose(ids).at(0);
      const auto next = std::span(answer).subspan(known, at_once);
      EXPECT_EQ(guess.tokens, std::vector<token_id>(next.begin(), next.end()))
          << "request " << id << " behind " << known;
    }
    model.close(id);
  }
}

}  // namespace troupe::test
