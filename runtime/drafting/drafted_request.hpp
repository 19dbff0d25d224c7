// One running request as the drafter knows it: its tokens, what is indexed of them, what was proposed last
// and how that came true.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/drafting/acceptance.hpp"
#include "runtime/drafting/prompt_lookup.hpp"
#include "runtime/drafting/speculative_config.hpp"
#include "runtime/drafting/suffix_tree.hpp"
#include "runtime/request.hpp"

namespace troupe {

// Tokens that may follow, and what is known of each.
struct proposal {
  draft_source source = draft_source::request;
  bool is_longest_match = false;  // of its source
  std::vector<token_id> tokens = {};
  std::vector<token_evidence> evidence = {};  // [tokens]
  std::vector<float> estimates = {};          // [tokens] of their classes
  std::vector<float> probabilities = {};      // [tokens] for this sequence
  // Tokens that are expected to be accepted where all are verified but for the first `lead`, which have to be
  // right all the same.
  double expected_accepted(std::int32_t lead = 0) const;
  std::size_t bytes() const;
};

class drafted_request {
 public:
  drafted_request(const speculative_config& config, std::uint64_t hash_seed,
                  std::span<const token_id> prompt);

  void append(std::span<const token_id> tokens, acceptance_estimates& estimates);
  // Indexes up to `most` of the tokens that wait; true where more do.
  bool index(std::size_t most);
  std::size_t num_unindexed() const { return tokens_.size() - num_indexed_; }

  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens_.size()); }
  // The last tokens, at most so many.
  std::span<const token_id> context(std::size_t most) const;
  std::span<const token_id> output() const { return std::span(tokens_).subspan(num_prompt_); }

  prompt_lookup* lookup() { return lookup_ ? &*lookup_ : nullptr; }  // method ngram
  suffix_tree* tree() { return tree_ ? &*tree_ : nullptr; }          // method suffix

  void clear_proposals() { num_proposals_ = 0; }
  // The continuation, as far as it is not empty, becomes a proposal of the sequence as it is now.
  void propose(const suffix_continuation& continuation, draft_source source, bool is_longest_match,
               const acceptance_estimates& estimates);
  // The one that promises most behind its first `lead` tokens, the first of equals; none where none has any.
  const proposal* best_proposal(std::int32_t lead = 0) const;
  std::size_t bytes() const;

 private:
  static constexpr std::size_t most_proposals = 4;
  void score(const proposal& made, std::span<const token_id> tokens, acceptance_estimates& estimates);

  std::vector<token_id> tokens_;
  std::size_t num_prompt_;
  std::size_t num_indexed_ = 0;
  std::optional<prompt_lookup> lookup_;
  std::optional<suffix_tree> tree_;

  // The proposals that are not refuted yet continue the sequence as it was with so many tokens.
  std::size_t proposed_after_ = 0;
  std::size_t num_proposals_ = 0;
  std::vector<proposal> proposals_;  // the first num_proposals_; the others are kept for their memory
  acceptance_bias bias_of_request_;
  acceptance_bias bias_of_tenant_;
};

}  // namespace troupe
