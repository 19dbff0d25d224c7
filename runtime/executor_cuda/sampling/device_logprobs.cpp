#include "runtime/executor_cuda/sampling/device_logprobs.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using kernels::cuda::logprob_row;

std::size_t count_of(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

device_logprobs::device_logprobs(std::int32_t vocab_size, std::int32_t rows, std::int32_t most)
    : vocab_size_(vocab_size),
      max_top_(std::min(vocab_size, kernels::cuda::max_top_logprobs)),
      rows_(count_of(most) * sizeof(logprob_row)),
      next_(count_of(most) * sizeof(token_id)),
      device_rows_(count_of(most)),
      device_next_(count_of(most)),
      workspace_(kernels::cuda::logprob_workspace_bytes(rows, vocab_size, max_top_)),
      logprobs_(count_of(most)),
      ranks_(count_of(most)),
      top_ids_(count_of(most) * count_of(max_top_)),
      top_logprobs_(top_ids_.size()),
      found_logprobs_(logprobs_.bytes()),
      found_ranks_(ranks_.bytes()),
      found_top_ids_(top_ids_.bytes()),
      found_top_logprobs_(top_logprobs_.bytes()) {
  owners_.reserve(count_of(most));
}

std::size_t device_logprobs::bytes() const {
  return device_rows_.bytes() + device_next_.bytes() + workspace_.size() + logprobs_.bytes() +
         ranks_.bytes() + top_ids_.bytes() + top_logprobs_.bytes();
}

void device_logprobs::clear() {
  owners_.clear();
  sent_ = 0;
  computed_ = 0;
}

void device_logprobs::add(std::size_t sample, std::int32_t top, const float* logits,
                          const std::uint32_t* mask, const token_id* token) {
  add_row({.is_prompt = false, .index = sample, .top = std::clamp(top, 0, max_top_)},
          {.logits = logits, .mask = mask, .token = token, .top = 0}, 0);
}

void device_logprobs::add_prompt(std::size_t prompt, const prompt_logprob_row& asked, const float* logits) {
  add_row({.is_prompt = true, .index = prompt, .top = std::clamp(asked.top, 0, max_top_)},
          {.logits = logits, .mask = nullptr, .token = device_next_.data() + owners_.size(), .top = 0},
          asked.next_token);
}

void device_logprobs::add_row(const owner& whose, const logprob_row& row, token_id next) {
  const std::size_t at = owners_.size();
  rows_.as<logprob_row>()[at] = row;
  rows_.as<logprob_row>()[at].top = whose.top;
  next_.as<token_id>()[at] = next;
  owners_.push_back(whose);
}

void device_logprobs::send(const cuda_stream& copies) {
  const std::size_t count = owners_.size() - sent_;
  if (count == 0) return;
  copies.copy_to_device(device_rows_.data() + sent_, rows_.as<logprob_row>().data() + sent_,
                        count * sizeof(logprob_row));
  copies.copy_to_device(device_next_.data() + sent_, next_.as<token_id>().data() + sent_,
                        count * sizeof(token_id));
  sent_ = owners_.size();
}

void device_logprobs::compute(const cuda_stream& compute) {
  kernels::cuda::logprob_batch batch;
  batch.rows = device_rows_.data() + computed_;
  batch.num_rows = static_cast<std::int32_t>(sent_ - computed_);
  batch.vocab = vocab_size_;
  batch.max_top = max_top_;
  batch.workspace = workspace_.data();
  batch.logprobs = logprobs_.data() + computed_;
  batch.ranks = ranks_.data() + computed_;
  batch.top_ids = top_ids_.data() + computed_ * count_of(max_top_);
  batch.top_logprobs = top_logprobs_.data() + computed_ * count_of(max_top_);
  kernels::cuda::compute_log_probabilities(batch, compute.get());
  computed_ = sent_;
}

void device_logprobs::fetch(const cuda_stream& copies) const {
  const std::size_t count = owners_.size();
  if (count == 0) return;
  const std::size_t tops = count * count_of(max_top_);
  copies.copy_to_host(found_logprobs_.data(), logprobs_.data(), count * sizeof(float));
  copies.copy_to_host(found_ranks_.data(), ranks_.data(), count * sizeof(std::int32_t));
  copies.copy_to_host(found_top_ids_.data(), top_ids_.data(), tops * sizeof(token_id));
  copies.copy_to_host(found_top_logprobs_.data(), top_logprobs_.data(), tops * sizeof(float));
}

void device_logprobs::take(step_result& result) const {
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    const owner& whose = owners_[i];
    token_logprobs told;
    told.token = whose.is_prompt ? next_.as<token_id>()[i] : result.tokens[whose.index].token;
    told.logprob = found_logprobs_.as<float>()[i];
    told.rank = found_ranks_.as<std::int32_t>()[i];
    for (std::size_t n = 0; n < count_of(whose.top); ++n) {
      const std::size_t at = i * count_of(max_top_) + n;
      told.top.emplace_back(found_top_ids_.as<token_id>()[at], found_top_logprobs_.as<float>()[at]);
    }
    if (whose.is_prompt) {
      result.prompt_logprobs[whose.index] = std::move(told);
    } else {
      result.tokens[whose.index].logprobs = std::move(told);
    }
  }
}

}  // namespace troupe
