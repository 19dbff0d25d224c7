// A second, smaller model that says how requests go on. It has an executor and KV memory of its own and draws
// each token as its request will draw it from the target: with the request's parameters and the same
// u(seed, position). So where the two models agree, the draft is right, seeded and at any temperature.
// (Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding", ICML 2023, with
// common random numbers in place of rejection.) For requests whose tokens need not be those of a seed there
// is rejection too: what their drafts were drawn from is kept.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/drafting/draft_sequence.hpp"
#include "runtime/drafting/draft_worth.hpp"
#include "runtime/executor/cpu/plan_tuner.hpp"
#include "runtime/executor/cpu/tuning_file.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"

namespace troupe {

struct draft_model_options {
  std::int32_t max_rows = 256;      // of one step: at most so much of a prompt is computed in one call
  std::int32_t max_sequences = 64;  // of one step; no more than rows
  std::int32_t max_model_len = 0;   // longest context of the draft model: beyond it nothing is drafted
  std::int32_t vocab_size = 0;      // of the target: a token beyond ends a draft
  std::int32_t num_tokens = 4;      // of a request, to be verified at once at most
  // Whether it drafts only what is expected to pay, by what target_step() has told; else num_tokens always.
  bool adaptive = false;
  std::function<std::chrono::nanoseconds()> now = [] { return std::chrono::nanoseconds(0); };
  std::vector<token_id> end_tokens = {};  // behind which nothing is drafted, unless ignore_eos
  // How drafts of requests are verified that are neither greedy nor seeded. Other than strict only where the
  // model has no token beyond vocab_size.
  rejection_method rejection = rejection_method::strict;
  // What may be kept at most of what drafts are drawn from, and how many tokens lead up to a draft at most:
  // so many requests at once may have their drafts accepted or rejected by chance as it suffices for whatever
  // they are drawn from. Whoever comes beyond is verified strictly.
  std::size_t most_kept_bytes = std::size_t{512} << 20U;
  std::int32_t most_pending = 1;
};

// Whether and where plans of the draft model's steps are chosen and kept, as those of the model's.
struct draft_tuning {
  bool wanted = false;
  tuning_key key = {};
  std::filesystem::path file = {};  // empty: they are not kept
};

// Calls about ids that are not open are ignored. One thread at a time.
class draft_model {
 public:
  // `device`: with its start done, for steps of so many rows and sequences.
  draft_model(std::shared_ptr<executor> device, draft_model_options options, draft_tuning tuning = {});

  // The model's warm-up, done to this one too: its scratch steps, as far as they are within the limits, and
  // what a draft costs side by side for so many requests where the model's verification is timed.
  // `needs_graph`: as device_batch has it.
  void warm_up(const warm_up_item& item, bool needs_graph = false);
  // One timed step by the plan whose turn it is, for the item's number of rows; true when that is chosen, or
  // there is nothing to choose. Errors of writing the file go to `kept`.
  bool tune(const warm_up_item& item, result<void>& kept);

  // A request with its prompt; one that is preempted stays open. An id that is open begins anew.
  void open(request_id id, std::span<const token_id> prompt, const sampling_params& sampling);
  // Tokens that it has generated, in order. `pending` more are sampled already: the next draft is as much
  // longer and leads up to what they leave to be guessed.
  void append(request_id id, std::span<const token_id> tokens, std::int32_t pending = 0);
  // It is over.
  void close(request_id id);
  // All are.
  void close_all();

  // How long a step of the target takes of so many rows, all sampled.
  void target_step(std::int32_t rows, std::chrono::nanoseconds took) { worth_.target_step(rows, took); }

  // How they go on: a draft for each that is computed up to its last token, side by side. The first step also
  // computes what is missing of the others, those with the least first, as far as max_rows reach: they have
  // no draft yet. Nor has one that finds no room in the KV, which those not named here give back before.
  // Throws what the executor throws, and this object is not to be used any more then; after
  // out_of_device_memory it may be, once it has forgotten what it stored.
  std::vector<draft> propose(std::span<const request_id> ids);

  // Waits for what the executor was asked for, and has all of it computed anew, and timed anew.
  void forget_stored();

  // The drafts of `batch` that it is to accept or reject: for steps of the target that verify drafts of this
  // model. Where what a draft was drawn from is gone the request draws the token itself.
  void begin_verification(const step_batch& batch, verified_drafts& out);
  // The share of drafted tokens that were right lately, by how they were verified: of requests that leave it
  // open.
  double acceptance(draft_verification how) const { return choice_.rate(how); }
  // How many requests may be open whose drafts are accepted or rejected by chance.
  std::size_t most_by_chance() const;

  // Whether nothing was computed in the last propose(), because nothing pays.
  bool is_resting() const { return is_resting_; }
  bool wants_tuning() const { return tuning_.wanted; }
  std::size_t num_requests() const { return sequences_.size(); }
  std::int32_t num_free_blocks() const { return static_cast<std::int32_t>(free_blocks_.size()); }
  kv_layout layout() const { return device_->layout(); }
  // Of its executor.
  std::optional<device_figures> figures() const { return device_->figures(); }

 private:
  struct drafting {
    request_id id = 0;
    draft_sequence* sequence = nullptr;
    std::int32_t wanted = 0;  // tokens, those in front that no step verifies included
  };

  executor_limits step_limits() const;
  warm_up_task scratch_task(const warm_up_item& item, bool needs_graph) const;
  std::chrono::nanoseconds run_scratch(const warm_up_task& task);
  void choose(std::span<const request_id> ids);
  // Leaves those out whose next token is not worth its time.
  void choose_worthy(std::int32_t requests);
  void fix_lengths(std::int32_t requests);
  bool pays_to_catch_up(const drafting& each, std::int32_t requests, double least) const;
  void draft_further(std::int32_t requests);
  void begin_step();
  // Rows for the next `count` tokens that are not stored; the last one is sampled where nothing is missing
  // behind it. False: no room.
  bool add_rows(draft_sequence& sequence, std::int32_t count);
  // Runs the rows and pushes one draft to each of `drafting_`, whose samples these are.
  void run_step();
  bool wants_more(const drafting& each) const;
  bool reserve(draft_sequence& sequence, std::int32_t num_tokens);
  bool take_back_blocks();
  void release(draft_sequence& sequence);
  draft_verification choose_verification(const sampling_params& sampling);
  draft_experience& experience_of(const sampling_params& sampling, draft_verification how);

  std::shared_ptr<executor> device_;
  draft_model_options options_;
  std::unordered_map<request_id, draft_sequence> sequences_;
  std::vector<std::int32_t> free_blocks_;
  std::array<draft_experience, 3> experiences_;  // of greedy requests, of others by how they are verified
  verification_choice choice_;
  std::uint64_t num_drafts_ = 0;
  draft_worth worth_;
  std::uint64_t num_untried_ = 0;  // that did not pay by what is known of others
  bool is_resting_ = false;
  draft_tuning tuning_;
  std::optional<plan_tuner> tuner_;  // of the item that is being tuned
  std::int32_t timed_rows_ = 0;      // of the last timed scratch step
  std::uint64_t calls_ = 0;
  std::vector<drafting> drafting_;  // of this call
  device_batch batch_;
  step_result sampled_;
};

}  // namespace troupe
