// A language model small enough for all its texts to be enumerated, and one that drafts for it: the logits
// are a fixed random function of the last two tokens, the sampler is the real one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sampling/sampler.hpp"

namespace troupe {

struct toy_setting {
  std::string name;
  sampling_params sampling;
  bool has_grammar = false;
  std::size_t vocab_size = 8;
  std::size_t length = 5;  // tokens of a text
  std::size_t joint = 3;   // as many of the first are looked at together
};

// Greedy, one for every parameter of the sampler, and all at once.
std::vector<toy_setting> toy_settings();

enum class draft_kind {
  equal,       // the target itself
  disjoint,    // tokens that the target never draws
  one_hot,     // one token for every pair of tokens, as an n-gram proposes
  random,      // another model under the same parameters
  unfiltered,  // another model that knows nothing of parameters, history and grammar
};
inline constexpr std::size_t num_draft_kinds = 5;
const char* to_string(draft_kind kind);

class toy_model {
 public:
  toy_model(toy_setting setting, draft_kind kind);

  struct distributions {
    kept_distribution target;
    kept_distribution draft;
    double common_mass = 0.0;       // the sum over all tokens of the smaller of both probabilities
    double common_quantiles = 0.0;  // the chance that one u draws the same token from both
  };

  const toy_setting& setting() const { return setting_; }

  // A node is a text after the prompt: 0 is the empty one; shorter ones come first.
  std::size_t after(std::size_t node, token_id token) const;
  // The node of the first text of this length.
  std::size_t first_of(std::size_t length) const;

  // For a text shorter than the setting's length. Computed once.
  const distributions& at(std::size_t node);
  // The sample that follows the text, its seed the last that was set. The history is left out: a draw from a
  // known distribution needs none.
  sample_row row_after(std::size_t node) const;
  std::vector<token_id> history(std::size_t node) const;  // prompt and text
  void set_seed(std::uint64_t seed) { sampling_->seed = seed; }
  std::vector<float> target_logits(std::size_t node) const;
  std::vector<std::uint32_t> mask(std::size_t node) const;
  std::vector<float> masked_logits(std::size_t node) const;  // the target's
  std::vector<token_id> end_tokens() const { return {0}; }

  // The target's probabilities of all texts of the full length, by node from the first on.
  std::vector<double> enumerate();

 private:
  std::size_t length(std::size_t node) const;
  std::uint64_t last_two(std::size_t node) const;
  std::vector<float> draft_logits(std::size_t node) const;
  distributions compute(std::size_t node) const;

  toy_setting setting_;
  draft_kind kind_;
  std::shared_ptr<sampling_params> sampling_;
  std::vector<std::unique_ptr<distributions>> known_;  // [nodes]
};

}  // namespace troupe
