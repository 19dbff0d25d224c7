// How often proposed tokens come true. Every proposal can be compared with the tokens that really came,
// whether it was verified or not; so what is known of a kind of proposal does not depend on how much is
// drafted.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe {

enum class draft_source {
  request,  // the request's own tokens
  tenant,   // earlier outputs of the same tenant
  model,    // a draft model, which has read all there is
};

// What is known of a proposed token, given that those proposed before it are right.
struct token_evidence {
  draft_source source = draft_source::request;
  std::int32_t match_length = 0;  // tokens before it that match: the context's, and those proposed before it
  float probability = 1.0F;       // its share of what followed there
  std::uint32_t count = 1;        // how often it followed there
};

// The share of tokens that came true, by class of evidence: source, match length, probability and count, each
// in a few ranges. Old observations fade. A class that has not been seen says something careful.
class acceptance_estimates {
 public:
  // In (0, 1).
  float estimate(const token_evidence& evidence) const;
  void observe(const token_evidence& evidence, bool is_right);

 private:
  static constexpr std::size_t num_lengths = 7;
  static constexpr std::size_t num_probabilities = 5;
  static constexpr std::size_t num_counts = 3;
  struct observations {
    float right = 0.0F;
    float all = 0.0F;
  };
  static std::size_t class_of(const token_evidence& evidence);

  std::array<observations, 3 * num_lengths* num_probabilities* num_counts> classes_ = {};
};

// How much better or worse than its class a sequence's tokens come true: one number that is added to the
// log-odds, and follows what came by online logistic regression.
class acceptance_bias {
 public:
  // What `estimate`, in (0, 1), becomes for this sequence.
  float adjust(float estimate) const;
  // A token of that estimate was right or wrong.
  void observe(float estimate, bool is_right);

 private:
  float log_odds_ = 0.0F;
  float observed_ = 0.0F;
};

}  // namespace troupe
