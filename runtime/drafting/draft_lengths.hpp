// How many drafted tokens a step verifies, and whose: as many as promise the most tokens per time. (The
// goodput of SmartSpec/TurboSpec: Liu et al., 2024, arXiv 2406.14066; here by sequence instead of one length
// for all.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/drafting/step_costs.hpp"

namespace troupe {

struct step_load {
  std::int32_t decode_rows = 0;  // sequences that get one token anyway, with a draft or without
  std::int32_t other_rows = 0;   // of prompts and of drafts verified anyway; each counts as a token
  std::int32_t max_rows = 0;     // of the step, drafts included
  double overhead = 0.0;         // time of a step that its rows do not take, in the unit of the costs
  double margin = 0.05;          // a drafted token counts 1 / (1 + margin): drafts must pay by so much
  double draft_overhead = 0.0;   // time that a step takes beside, as soon as it verifies anything
  // [sequences with a draft] what each of their drafted rows takes beside the costs; empty: nothing.
  std::span<const double> row_costs = {};
};

struct draft_lengths {
  std::vector<std::int32_t> lengths = {};  // [sequences] leading tokens of the draft to be verified
  std::int32_t num_drafted = 0;            // their sum
  double expected_accepted = 0.0;          // of those

  struct candidate {
    double gain = 0.0;  // probability that the sequence's next token, and all before it, are right
    std::uint32_t sequence = 0;
  };
  // Kept for their memory.
  std::vector<candidate> heap = {};
  std::vector<std::uint32_t> order = {};  // whose tokens were looked at, one by one
};

// `probabilities`: for each sequence with a draft, how likely each of its tokens is right given that those
// before it are. Overwrites `out` and reuses its memory.
//
// Exact where rows take nothing beside, or all the same, whatever the costs look like. The next token of a
// draft is worth the product of the probabilities up to it, which falls along the draft; so the best n tokens
// of all drafts are the n of the highest worth, taken one by one, and every n is compared. (To stop at the
// first n that does not pay would be enough for convex costs; real ones have steps where another kernel takes
// over.) Where rows differ in what they take beside, the order is still that of the worth, and tokens that
// are not worth what they take are left out: a cheaper token of nearly the same worth may come behind a
// dearer one. Nothing is drafted where a cost is unknown.
void choose_draft_lengths(std::span<const std::span<const float>> probabilities, const step_load& load,
                          const step_costs& costs, draft_lengths& out);

}  // namespace troupe
