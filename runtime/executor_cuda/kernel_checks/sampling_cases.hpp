// Rows of logits sampled on the device and by runtime/sampling, from the same requests.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cuda/sampling/sampling.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe::checks {

struct sampling_case {
  std::vector<float> logits = {};
  sample_row row = {};
  std::vector<token_id> end_tokens = {};
  std::vector<std::uint32_t> mask = {};  // empty: all allowed
  std::optional<token_id> draft = {};    // to be verified by rejection sampling, drawn from ...
  kept_distribution drafted = {};
  bool keeps_logits = false;  // changes a copy of them
  bool is_draft = false;      // leaves what it was drawn from
};

// The tokens that the device draws, all rows in one batch. The logits' rows stand further apart than they are
// long. Where `logits` is not null, what is left in the rows goes there.
std::vector<token_id> sample_on_device(const std::vector<sampling_case>& cases,
                                       std::vector<std::vector<float>>* logits = nullptr,
                                       std::vector<kept_distribution>* kept = nullptr);

std::vector<token_id> sample_on_host(const std::vector<sampling_case>& cases);

// A row that takes everything in turn, a pure function of the seed: equal logits, NaN, infinities, every
// parameter, masks, histories.
sampling_case random_case(std::uint64_t seed, std::size_t vocab);

// The same with a draft, from a distribution near the row's, far from it or of one token.
sampling_case random_drafted_case(std::uint64_t seed, std::size_t vocab);

}  // namespace troupe::checks
