// Whether it pays to draft a further token with a draft model: its own time is spent before anybody knows
// whether the token is verified.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/drafting/step_costs.hpp"

namespace troupe {

class draft_worth {
 public:
  // How long a step of the target takes of so many rows, all sampled; and one of the draft model.
  void target_step(std::int32_t rows, std::chrono::nanoseconds took);
  void draft_step(std::int32_t rows, std::chrono::nanoseconds took);
  // One of the draft model, most of whose rows were of prompts.
  void prompt_step(std::int32_t rows, std::chrono::nanoseconds took);

  // `requests` run, for which `drafted` tokens are there already; `active` of them are to get one more. How
  // probable it has to be, at least, that such a token and all before it are right: then it gives as many
  // tokens per time as a step without drafts, and 5 % more. 0 where it is not known what drafting costs;
  // nothing where it is not known what verifying costs: nothing is verified then.
  std::optional<double> least(std::int32_t requests, std::int32_t active, std::int32_t drafted) const;
  // How many tokens, at most `most`, it is best to draft for each of `active` of `requests` that run, where
  // all are verified whatever they are: each is right with probability `rate`, given those before it, and the
  // first of them with `lead_worth` behind `lead` tokens that are drafted only to lead up to it. By the
  // tokens per time of the whole step, whatever the costs look like; 0 where none pays by 5 %.
  struct sequence_draft {
    double rate = 0.0;
    double lead_worth = 1.0;
    std::int32_t lead = 0;
    std::int32_t most = 0;
  };
  std::int32_t best_length(std::int32_t requests, std::int32_t active, const sequence_draft& of) const;
  // How many tokens steps without drafts give, beside `requests`, in the time that the draft model takes for
  // so many rows of a prompt. 0 where it is not known.
  double prompt(std::int32_t rows, std::int32_t requests) const;

 private:
  step_costs target_;
  step_costs draft_;
  std::optional<double> prompt_row_;  // ns, at the best
};

}  // namespace troupe
