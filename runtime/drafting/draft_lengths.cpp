#include "runtime/drafting/draft_lengths.hpp"

#include <algorithm>

namespace troupe {
namespace {

// 0 for what is no probability.
double worth(double gain, std::span<const float> draft, std::int32_t length) {
  if (static_cast<std::size_t>(length) >= draft.size()) return 0.0;
  const auto probability = static_cast<double>(draft[static_cast<std::size_t>(length)]);
  return probability > 0.0 ? gain * std::min(probability, 1.0) : 0.0;
}

bool is_less(const draft_lengths::candidate& a, const draft_lengths::candidate& b) {
  return a.gain != b.gain ? a.gain < b.gain : a.sequence > b.sequence;
}

void fill_heap(std::span<const std::span<const float>> probabilities, draft_lengths& out) {
  out.heap.clear();
  out.order.clear();
  for (std::uint32_t i = 0; i < probabilities.size(); ++i) {
    if (const double gain = worth(1.0, probabilities[i], 0); gain > 0.0) out.heap.push_back({gain, i});
  }
  std::ranges::make_heap(out.heap, is_less);
}

// Takes the token of the highest worth.
void take(std::span<const std::span<const float>> probabilities, draft_lengths& out) {
  std::ranges::pop_heap(out.heap, is_less);
  draft_lengths::candidate& taken = out.heap.back();
  std::int32_t& length = out.lengths[taken.sequence];
  ++length;
  out.order.push_back(taken.sequence);
  taken.gain = worth(taken.gain, probabilities[taken.sequence], length);
  if (taken.gain > 0.0)
    std::ranges::push_heap(out.heap, is_less);
  else
    out.heap.pop_back();
}

// Whether the token is worth what its row takes beside the costs. If not, nor are those behind it.
bool pays_alone(const draft_lengths::candidate& token, double rate, const step_load& load) {
  if (load.row_costs.empty()) return true;
  return token.gain / (1.0 + load.margin) > rate * load.row_costs[token.sequence];
}

}  // namespace

void choose_draft_lengths(std::span<const std::span<const float>> probabilities, const step_load& load,
                          const step_costs& costs, draft_lengths& out) {
  out.lengths.assign(probabilities.size(), 0);
  out.num_drafted = 0;
  out.expected_accepted = 0.0;
  const std::int32_t base = load.decode_rows + load.other_rows;
  const auto base_cost = costs.cost(base);
  if (!base_cost) return;

  double best = static_cast<double>(base) / (load.overhead + *base_cost);
  const std::int32_t last = std::min(load.max_rows, costs.most_rows());
  double accepted = 0.0;
  double beside = 0.0;  // of the rows that are taken
  fill_heap(probabilities, out);
  for (std::int32_t rows = base + 1; rows <= last && !out.heap.empty(); ++rows) {
    while (!out.heap.empty() && !pays_alone(out.heap.front(), best, load)) {
      std::ranges::pop_heap(out.heap, is_less);
      out.heap.pop_back();
    }
    if (out.heap.empty()) break;
    const double gain = out.heap.front().gain;
    // No further tokens, however many, can be worth their time.
    if (gain / (1.0 + load.margin) <= best * costs.least_slope(rows - 1)) break;
    accepted += gain;
    if (!load.row_costs.empty()) beside += load.row_costs[out.heap.front().sequence];
    take(probabilities, out);
    const double tokens = static_cast<double>(base) + accepted / (1.0 + load.margin);
    const double rate = tokens / (load.overhead + load.draft_overhead + beside + *costs.cost(rows));
    if (rate <= best) continue;
    best = rate;
    out.num_drafted = rows - base;
    out.expected_accepted = accepted;
  }

  for (std::size_t i = static_cast<std::size_t>(out.num_drafted); i < out.order.size(); ++i)
    --out.lengths[out.order[i]];
}

}  // namespace troupe
