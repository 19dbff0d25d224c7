// Texts of the toy model, token by token and by steps with drafts, as a scheduler takes them.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/runtime/sampling/toy_model_fixture.hpp"

namespace troupe {

enum class verification { same_draw, rejection };

// Of the drafts that were looked at: those that came before a rejected one, and that one.
struct acceptance {
  std::uint64_t verified = 0;
  std::uint64_t accepted = 0;
  double expected = 0.0;  // accepted, by the theory
  double variance = 0.0;
};

class speculation {
 public:
  speculation(const toy_setting& setting, draft_kind kind, verification mode)
      : model_(setting, kind), mode_(mode) {}

  // The node of a text drawn by steps of 1 to 4 drafts and one token more, from distributions that are
  // computed once.
  std::size_t draw_text(std::uint64_t seed);

  // Texts with the whole sampler at every row, on logits, mask and history: by such steps, and without
  // drafts.
  std::vector<sampled_token> sample_text(std::uint64_t seed);
  std::vector<sampled_token> sample_text_without_drafts(std::uint64_t seed);

  toy_model& model() { return model_; }
  const acceptance& drafts() const { return drafts_; }

 private:
  template <class Sample>
  std::vector<sampled_token> run(std::uint64_t seed, Sample sample);
  template <class Sample>
  std::vector<sampled_token> step(std::uint64_t seed, std::size_t node, std::size_t num_drafts,
                                  Sample sample);
  void count(std::size_t node, bool is_accepted);
  sampled_token sample_after(std::size_t node, const drafted_token* draft);

  toy_model model_;
  verification mode_;
  acceptance drafts_;
  sampler_scratch scratch_;
};

}  // namespace troupe
