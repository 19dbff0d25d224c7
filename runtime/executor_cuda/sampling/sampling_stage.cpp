#include "runtime/executor_cuda/sampling/sampling_stage.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace troupe {
namespace {

using kernels::cuda::sampling_needs;
using kernels::cuda::sampling_row;

std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

constexpr sampling_needs no_needs{
    .processing = false, .weights = false, .top_k = false, .top_p = false, .drafts = false, .kept = false};

// The lists of one sample: its history, mask, biases, what is banned, and what a draft was drawn from.
std::size_t bytes_of(const sample_row& sample, std::span<const token_id> end_tokens, std::size_t mask_bytes,
                     const drafted_token* draft) {
  const sampling_params& params = *sample.sampling;
  const std::size_t drafted = draft == nullptr ? 0 : draft->distribution.weights.size_bytes();
  return aligned(sample.history.size() * sizeof(token_id)) + aligned(mask_bytes) +
         2 * aligned(params.logit_bias.size() * sizeof(float)) +
         aligned(end_tokens.size_bytes() + params.stop_token_ids.size() * sizeof(token_id)) +
         2 * aligned(drafted);
}

std::size_t words_of_a_mask(std::int32_t vocab_size) {
  return (static_cast<std::size_t>(vocab_size) + 31) / 32;
}

std::size_t most_bytes(std::int32_t vocab_size, std::int32_t max_model_len) {
  const auto vocab = static_cast<std::size_t>(vocab_size);
  return aligned(static_cast<std::size_t>(max_model_len + 1) * sizeof(token_id)) + aligned(vocab / 8 + 4) +
         6 * aligned(vocab * sizeof(float)) + 64;
}

}  // namespace

sampling_stage::sampling_stage(std::int32_t max_rows, std::int32_t vocab_size, std::int32_t max_model_len,
                               std::size_t bytes)
    : max_rows_(max_rows),
      lists_begin_(aligned(static_cast<std::size_t>(max_rows) * sizeof(sampling_row))),
      host_(lists_begin_ + std::max(bytes, most_bytes(vocab_size, max_model_len))),
      device_(host_.size()),
      vocab_size_(vocab_size) {
  clear();
}

void sampling_stage::clear() {
  used_ = lists_begin_;
  num_rows_ = 0;
  needs_ = no_needs;
}

template <class T>
const T* sampling_stage::keep(std::span<const T> values) {
  if (values.empty()) return nullptr;
  std::memcpy(host_.data() + used_, values.data(), values.size_bytes());
  const auto* there = reinterpret_cast<const T*>(device_.data() + used_);
  used_ += aligned(values.size_bytes());
  return there;
}

const std::uint32_t* sampling_stage::keep_mask(std::span<const std::uint32_t> mask) {
  const std::size_t words = words_of_a_mask(vocab_size_);
  if (mask.empty()) return nullptr;
  if (mask.size() >= words) return keep(mask.first(words));
  words_.assign(mask.begin(), mask.end());
  words_.resize(words, 0);
  return keep(std::span<const std::uint32_t>(words_));
}

bool sampling_stage::add_placeholder() {
  if (num_rows_ == max_rows_) return false;
  sampling_row row;
  row.temperature = 0.0F;
  host_.as<sampling_row>()[static_cast<std::size_t>(num_rows_++)] = row;
  return true;
}

bool sampling_stage::add(const sample_row& sample, std::span<const token_id> end_tokens,
                         std::span<const std::uint32_t> mask, const sample_extras& extras) {
  if (num_rows_ == max_rows_) return false;
  const std::size_t mask_bytes = mask.empty() ? 0 : words_of_a_mask(vocab_size_) * sizeof(std::uint32_t);
  if (bytes_of(sample, end_tokens, mask_bytes, extras.draft) > host_.size() - used_) return false;
  const sampling_params& params = *sample.sampling;
  sampling_row row;
  row.seed = params.seed;
  row.position = sample.position;
  row.temperature = is_greedy(params) ? 0.0F : params.temperature;
  row.top_p = params.top_p;
  row.min_p = params.min_p;
  row.top_k = params.top_k;
  row.mask = keep_mask(mask);
  row.kept = extras.kept;
  row.processed = extras.processed;
  if (extras.draft != nullptr) add_draft(row, *extras.draft);
  if (params.needs_history()) {
    row.repetition_penalty = params.repetition_penalty;
    row.presence_penalty = params.presence_penalty;
    row.frequency_penalty = params.frequency_penalty;
    row.prompt_length = sample.prompt_length;
    row.history_length = static_cast<std::int32_t>(sample.history.size());
    row.history = keep(std::span<const token_id>(sample.history));
  }
  if (sample.num_generated < params.min_tokens) add_banned(row, end_tokens, params.stop_token_ids);
  if (!params.logit_bias.empty()) add_biases(row, params);
  note_needs(params, row);
  host_.as<sampling_row>()[static_cast<std::size_t>(num_rows_++)] = row;
  return true;
}

void sampling_stage::add_banned(sampling_row& row, std::span<const token_id> end_tokens,
                                std::span<const token_id> stop_tokens) {
  ids_.assign(end_tokens.begin(), end_tokens.end());
  ids_.insert(ids_.end(), stop_tokens.begin(), stop_tokens.end());
  std::ranges::sort(ids_);
  ids_.erase(std::ranges::unique(ids_).begin(), ids_.end());
  row.num_banned = static_cast<std::int32_t>(ids_.size());
  row.banned = keep(std::span<const token_id>(ids_));
}

void sampling_stage::add_biases(sampling_row& row, const sampling_params& params) {
  const std::vector<token_bias>* ascending = &params.logit_bias;
  if (!std::ranges::is_sorted(*ascending, {}, &token_bias::first)) {
    sorted_ = params.logit_bias;
    std::ranges::stable_sort(sorted_, {}, &token_bias::first);
    ascending = &sorted_;
  }
  ids_.clear();
  values_.clear();
  for (const auto& [id, bias] : *ascending) {
    ids_.push_back(id);
    values_.push_back(bias);
  }
  row.num_biased = static_cast<std::int32_t>(ids_.size());
  row.biased = keep(std::span<const token_id>(ids_));
  row.biases = keep(std::span<const float>(values_));
}

void sampling_stage::add_draft(sampling_row& row, const drafted_token& draft) {
  const auto [ids, weights] = draft.distribution;
  row.is_drafted = true;
  row.draft = draft.token;
  row.drafted.size = static_cast<std::int32_t>(weights.size());
  row.drafted.weights = keep(weights);
  row.drafted.ids = keep(ids);
  if (!ids.empty()) return;
  ids_.resize(weights.size());
  std::iota(ids_.begin(), ids_.end(), 0);
  row.drafted.ids = keep(std::span<const token_id>(ids_));
}

void sampling_stage::note_needs(const sampling_params& params, const sampling_row& row) {
  needs_.processing |=
      row.num_banned > 0 || row.num_biased > 0 || params.needs_history() || row.processed != nullptr;
  if (is_greedy(params)) return;
  const bool has_top_k = params.top_k > 0 && params.top_k < vocab_size_;
  needs_.top_k |= has_top_k;
  needs_.weights |= !has_top_k;
  needs_.top_p |= !has_top_k && params.top_p < 1.0F;
  needs_.drafts |= row.is_drafted;
  needs_.kept |= row.kept.size != nullptr;
}

void sampling_stage::send(const cuda_stream& stream) const {
  stream.copy_to_device(device_.data(), host_.data(), used_);
}

const std::uint32_t* sampling_stage::mask(std::int32_t row) const {
  return host_.as<const sampling_row>()[static_cast<std::size_t>(row)].mask;
}

const sampling_row* sampling_stage::rows() const {
  return reinterpret_cast<const sampling_row*>(device_.data());
}

}  // namespace troupe
