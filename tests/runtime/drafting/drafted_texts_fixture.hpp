// Texts of a toy language, drawn as the service draws them with a draft model: scheduler, KV cache, draft
// model, token feed and executor, step by step, many requests side by side.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/token_feed.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "tests/support/toy_device.hpp"

namespace troupe {

struct drafted_setting {
  std::string name;
  sampling_params sampling;  // without lengths
  bool has_grammar = false;
  std::int32_t vocab = 8;
  std::int32_t length = 5;           // tokens of a text
  std::int32_t joint = 3;            // as many of the first are looked at together
  std::uint64_t draft_language = 2;  // 1 is the target's
  bool has_draft_model = true;
  rejection_method method = rejection_method::probabilistic;
  bool is_seeded = false;
  bool adaptive = false;  // drafted and verified is what pays
  std::int32_t steps_in_flight = 1;
  std::int32_t num_draft_tokens = 4;
  std::int32_t num_blocks = 400;  // of 4 tokens
  std::int32_t forget_every = 0;  // of so many steps one knows nothing of what drafts were drawn from
  std::optional<token_id> end_token = {};  // ends a text, which is filled up with it to its length
  std::int32_t late_beyond = 100;          // drafts of more tokens come when their step has been planned
};

class drafted_texts {
 public:
  explicit drafted_texts(drafted_setting setting);

  // One text for each seed from `first` on.
  std::vector<std::vector<token_id>> draw(std::uint64_t first, std::size_t count);
  scheduler_counts counts() const { return scheduler_.counts(); }
  const draft_model& drafts() const { return *drafts_; }
  // Drafted tokens that no step verified, since the grammar does not have one before them.
  std::uint64_t num_cut() const { return num_cut_; }
  // Drafts that came late.
  std::uint64_t num_late() const { return num_late_; }
  // The target's probabilities of all texts, the first token counting most.
  std::vector<double> enumerate();

 private:
  void submit(request_id id, std::uint64_t seed);
  bool dispatch();
  void run_oldest();
  void commit();
  bool has_ended(const std::vector<token_id>& tokens) const;
  void ask_for_drafts(const std::vector<request_id>& ids);
  void cut_for_grammar(draft& guess);
  void propose_late_ones();
  void give_back(const std::vector<block_release>& releases);
  step_masks masks_of(const device_batch& batch) const;
  void enumerate_from(std::vector<token_id>& tokens, double probability, std::vector<double>& out);

  drafted_setting setting_;
  toy_language language_;
  toy_device device_;
  scheduler scheduler_;
  kv_cache_manager kv_cache_;
  std::chrono::nanoseconds time_{0};
  std::unique_ptr<draft_model> drafts_;
  token_feed feed_;
  verified_drafts verified_;
  std::deque<step_batch_ptr> dispatched_;
  step_reservation reservation_;
  step_result result_;
  scheduler_output output_;
  sampler_scratch scratch_;
  std::uint64_t steps_ = 0;
  std::uint64_t num_cut_ = 0;
  std::vector<draft> late_;
  std::uint64_t num_late_ = 0;
  std::vector<std::vector<token_id>>* texts_ = nullptr;
};

}  // namespace troupe
