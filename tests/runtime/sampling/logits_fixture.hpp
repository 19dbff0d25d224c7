// What the sampler promises for made-up rows of logits.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/sampling/random_logits.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {

// All indices by descending value, equal ones by ascending index.
inline std::vector<std::size_t> descending(const std::vector<float>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

// What the sampler promises, in double precision with a full sort: the probabilities of processed logits
// after truncation.
inline std::vector<double> oracle_distribution(const std::vector<float>& logits,
                                               const sampling_params& params) {
  const auto order = descending(logits);
  std::vector<double> probabilities(logits.size(), 0.0);
  const double max = logits[order[0]];
  const std::size_t k = params.top_k > 0 ? static_cast<std::size_t>(params.top_k) : logits.size();
  double total = 0.0;
  for (std::size_t i = 0; i < std::min(k, order.size()); ++i) {
    const double p = std::exp((logits[order[i]] - max) / static_cast<double>(params.temperature));
    if (p < static_cast<double>(params.min_p)) continue;
    probabilities[order[i]] = p;
    total += p;
  }
  double mass = 0.0;
  for (const std::size_t i : order) {
    if (mass >= static_cast<double>(params.top_p) * total) probabilities[i] = 0.0;
    mass += probabilities[i];
  }
  total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  for (double& p : probabilities) p /= total;
  return probabilities;
}

inline sample_row row_for(sampling_params params, std::int32_t position = 1) {
  sample_row row;
  row.position = position;
  row.num_generated = 1000;  // past every min_tokens unless a test says otherwise
  row.sampling = std::make_shared<const sampling_params>(std::move(params));
  return row;
}

}  // namespace troupe
