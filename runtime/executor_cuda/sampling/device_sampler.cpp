#include "runtime/executor_cuda/sampling/device_sampler.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {
namespace {

constexpr std::int32_t rows_finished_at_once = 8;
constexpr std::int32_t copies_at_once = 16;  // of logits that the sampler changes

std::size_t to_size(std::int32_t number) { return static_cast<std::size_t>(number); }

kept_distribution* kept_of(const device_batch& batch, std::size_t sample) {
  return batch.kept.empty() ? nullptr : batch.kept[sample];
}

const drafted_token* draft_of(const device_batch& batch, std::size_t sample) {
  return batch.verified.empty() ? nullptr : batch.verified[sample];
}

// Log-probabilities are those of the logits as the model has computed them.
bool changes_logits(const sample_row& sample) {
  const sampling_params& params = *sample.sampling;
  return sample.num_generated < params.min_tokens || !params.logit_bias.empty() || params.needs_history();
}

// So the sampler changes a copy.
bool needs_copy(const sample_row& sample) {
  return sample.sampling->logprobs.has_value() && changes_logits(sample);
}

// Whether the device can do all that is asked of logit row `index`: a sample or, behind those, a prompt's.
bool can_be_done_there(const device_batch& batch, std::size_t index, bool keeps) {
  const std::size_t samples = batch.samples.size();
  if (index >= samples) return device_logprobs::can_tell(batch.prompt_logprobs[index - samples].top);
  const auto& top = batch.samples[index].sampling->logprobs;
  return (!top || device_logprobs::can_tell(*top)) && (keeps || kept_of(batch, index) == nullptr);
}

std::span<const std::uint32_t> mask_of(const step_masks* masks, std::size_t sample) {
  return masks == nullptr ? std::span<const std::uint32_t>() : masks->mask_of(sample);
}

}  // namespace

device_sampler::device_sampler(std::int32_t vocab_size, const executor_limits& limits, std::int32_t rows,
                               std::int32_t most, std::vector<token_id> end_tokens)
    : vocab_size_(vocab_size),
      rows_(rows),
      end_tokens_(std::move(end_tokens)),
      stage_(rows, vocab_size, limits.max_model_len),
      workspace_(kernels::cuda::sampling_workspace_bytes(rows, vocab_size)),
      tokens_(to_size(most)),
      sampled_(to_size(most) * sizeof(token_id)),
      logprobs_(vocab_size, rows, most),
      copy_stride_((to_size(vocab_size) + 3) / 4 * 4),
      changed_(to_size(std::min(rows, copies_at_once)) * copy_stride_),
      kept_(vocab_size, std::min(rows, limits.kept_at_once)),
      copied_(to_size(rows_finished_at_once) * to_size(vocab_size) * sizeof(float)) {
  on_host_.reserve(to_size(rows));
}

void device_sampler::sample(const work& work, step_result& result) {
  const device_batch& batch = work.batch;
  result.prompt_logprobs.clear();
  result.prompt_logprobs.resize(batch.prompt_logprobs.size());
  result.tokens.clear();
  result.tokens.resize(batch.samples.size());
  result.step = batch.step;
  const auto total = static_cast<std::int32_t>(batch.samples.size() + batch.prompt_logprobs.size());
  if (total == 0) return;
  divide(batch);
  logprobs_.clear();
  for (std::int32_t first = 0; first < total; first += rows_) {
    const std::int32_t count = std::min(rows_, total - first);
    sample_rows(work, first, count, work.logits(first, count), result);
  }
  fetch(work);
  fetched_.synchronize();
  take(result);
}

bool device_sampler::begin(const work& work) {
  const device_batch& batch = work.batch;
  const auto samples = static_cast<std::int32_t>(batch.samples.size());
  const auto total = samples + static_cast<std::int32_t>(batch.prompt_logprobs.size());
  if (total > rows_ || std::ranges::any_of(batch.kept, [](const auto* each) { return each != nullptr; }))
    return false;
  divide(batch);
  if (std::ranges::find(is_theirs_, false) != is_theirs_.end()) return false;
  if (samples > 0 && stage_rows(batch, work.masks, 0, samples) < samples) return false;
  logprobs_.clear();
  if (total > 0) {
    const device_logits logits = work.logits(0, total);
    if (samples > 0) draw(work, 0, logits);
    tell_prompts(work, 0, total, logits);
  }
  fetch(work);
  return true;
}

// About 50 us: less than a step takes, and more than it costs to ask again.
bool device_sampler::collect(step_result& result) {
  constexpr int looks = 32;
  for (int look = 0; look < looks; ++look) {
    if (!fetched_.is_over()) continue;
    result.step = step_;
    result.prompt_logprobs.clear();
    result.prompt_logprobs.resize(num_prompts_);
    result.tokens.clear();
    result.tokens.resize(ids_.size());
    take(result);
    return true;
  }
  return false;
}

// Behind the sampler's last work, beside what the device computes next.
void device_sampler::fetch(const work& work) {
  const device_batch& batch = work.batch;
  step_ = batch.step;
  num_prompts_ = batch.prompt_logprobs.size();
  ids_.clear();
  for (const sample_row& each : batch.samples) ids_.push_back(batch.sequences[to_size(each.sequence)].id);
  if (work.clock != nullptr) work.clock->end(work.compute);
  drawn_.record(work.compute);
  drawn_.hold(work.copies);
  if (!ids_.empty())
    work.copies.copy_to_host(sampled_.data(), tokens_.data(), ids_.size() * sizeof(token_id));
  logprobs_.fetch(work.copies);
  fetched_.record(work.copies);
}

void device_sampler::take(step_result& result) const {
  const std::span<const token_id> sampled = sampled_.as<const token_id>();
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    result.tokens[i].id = ids_[i];
    if (is_theirs_[i]) result.tokens[i].token = sampled[i];
  }
  logprobs_.take(result);
}

// The stage may have room for fewer samples than there are logits, where their lists are long.
void device_sampler::sample_rows(const work& work, std::int32_t first, std::int32_t count,
                                 const device_logits& logits, step_result& result) {
  finish_on_host(work, first, count, logits, result);
  const std::int32_t end = std::min(first + count, static_cast<std::int32_t>(work.batch.samples.size()));
  for (std::int32_t next = first; next < end;) {
    if (next > 0) work.compute.synchronize();  // the stage may still be read
    const std::int32_t staged = stage_rows(work.batch, work.masks, next, end);
    draw(work, next, {logits.data + to_size(next - first) * logits.stride, logits.stride});
    kept_.collect(work.compute);
    next += staged;
  }
  tell_prompts(work, first, count, logits);
}

// Of the rows that are computed at once so many are copied.
void device_sampler::divide(const device_batch& batch) {
  const std::size_t samples = batch.samples.size();
  is_theirs_.clear();
  std::int32_t copies = 0;
  for (std::size_t i = 0; i < samples + batch.prompt_logprobs.size(); ++i) {
    if (i % to_size(rows_) == 0) copies = 0;
    bool theirs = can_be_done_there(batch, i, kept_.capacity() > 0);
    if (theirs && i < samples && needs_copy(batch.samples[i])) theirs = ++copies <= copies_at_once;
    is_theirs_.push_back(theirs);
  }
}

void device_sampler::add_logprobs(const work& work, std::int32_t first, const device_logits& logits) {
  for (std::int32_t row = 0; row < stage_.num_rows(); ++row) {
    const std::size_t sample = to_size(first + row);
    const sample_row& of = work.batch.samples[sample];
    if (!of.sampling->logprobs || !is_theirs_[sample]) continue;
    logprobs_.add(sample, *of.sampling->logprobs, logits.data + to_size(row) * logits.stride,
                  stage_.mask(row), tokens_.data() + sample);
  }
}

// Of the logit rows [first, first + count) those of prompts.
void device_sampler::tell_prompts(const work& work, std::int32_t first, std::int32_t count,
                                  const device_logits& logits) {
  const auto samples = static_cast<std::int32_t>(work.batch.samples.size());
  for (std::int32_t i = std::max(first, samples); i < first + count; ++i)
    if (is_theirs_[to_size(i)])
      logprobs_.add_prompt(to_size(i - samples), work.batch.prompt_logprobs[to_size(i - samples)],
                           logits.data + to_size(i - first) * logits.stride);
  logprobs_.send(work.copies);
  staged_.record(work.copies);
  staged_.hold(work.compute);
  logprobs_.compute(work.compute);
}

// The rows that have been staged: they travel while the device still computes their logits.
void device_sampler::draw(const work& work, std::int32_t first, const device_logits& logits) {
  add_logprobs(work, first, logits);
  stage_.send(work.copies);
  logprobs_.send(work.copies);
  staged_.record(work.copies);
  staged_.hold(work.compute);
  kernels::cuda::sampling_batch rows;
  rows.logits = logits.data;
  rows.stride = logits.stride;
  rows.vocab = vocab_size_;
  rows.num_rows = stage_.num_rows();
  rows.rows = stage_.rows();
  rows.tokens = tokens_.data() + first;
  rows.workspace = workspace_.data();
  kernels::cuda::sample_tokens(rows, stage_.needs(), work.compute.get());
  logprobs_.compute(work.compute);
}

std::int32_t device_sampler::stage_rows(const device_batch& batch, const step_masks* masks,
                                        std::int32_t first, std::int32_t end) {
  stage_.clear();
  kept_.clear();
  float* changed = changed_.data();
  for (std::int32_t i = first; i < end; ++i)
    if (!stage_row(batch, masks, to_size(i), changed)) break;
  if (stage_.num_rows() == 0)
    throw std::length_error("a sample has longer lists than the device has room for");
  return stage_.num_rows();
}

// `changed`: room for its changed logits, where they are not to be the model's.
bool device_sampler::stage_row(const device_batch& batch, const step_masks* masks, std::size_t sample,
                               float*& changed) {
  if (!is_theirs_[sample]) return stage_.add_placeholder();
  const sample_row& row = batch.samples[sample];
  kept_distribution* const kept = kept_of(batch, sample);
  if (kept != nullptr && kept_.is_full()) return false;
  sample_extras extras;
  if (kept != nullptr) {
    extras.kept = kept_.place();
  } else {
    extras.draft = draft_of(batch, sample);
  }
  if (needs_copy(row)) extras.processed = changed;
  if (!stage_.add(row, end_tokens_, mask_of(masks, sample), extras)) return false;
  if (kept != nullptr) kept_.add(*kept);
  if (extras.processed != nullptr) changed += copy_stride_;
  return true;
}

void device_sampler::finish_on_host(const work& work, std::int32_t first, std::int32_t count,
                                    const device_logits& logits, step_result& result) {
  on_host_.clear();
  for (std::int32_t i = first; i < first + count; ++i)
    if (!is_theirs_[to_size(i)]) on_host_.push_back(i);
  const std::span<float> copied = copied_.as<float>();
  for (std::size_t begin = 0; begin < on_host_.size(); begin += to_size(rows_finished_at_once)) {
    const std::size_t end = std::min(begin + to_size(rows_finished_at_once), on_host_.size());
    for (std::size_t i = begin; i < end; ++i) {
      const float* row = logits.data + to_size(on_host_[i] - first) * logits.stride;
      work.compute.copy_to_host(copied.data() + (i - begin) * to_size(vocab_size_), row,
                                to_size(vocab_size_) * sizeof(float));
    }
    work.compute.synchronize();
    for (std::size_t i = begin; i < end; ++i)
      finish_row(work.batch, work.masks, to_size(on_host_[i]),
                 copied.data() + (i - begin) * to_size(vocab_size_), result);
  }
}

void device_sampler::finish_row(const device_batch& batch, const step_masks* masks, std::size_t index,
                                const float* logits, step_result& result) {
  const std::span<const float> row(logits, to_size(vocab_size_));
  if (index >= batch.samples.size()) {
    const std::size_t prompt = index - batch.samples.size();
    const prompt_logprob_row& of = batch.prompt_logprobs[prompt];
    result.prompt_logprobs[prompt] = log_probabilities(row, of.next_token, of.top);
    return;
  }
  const sample_row& sample = batch.samples[index];
  result.tokens[index] =
      kept_of(batch, index) != nullptr
          ? sample_draft(row, sample, end_tokens_, scratch_, *batch.kept[index])
          : sample_token(row, sample, end_tokens_, scratch_, mask_of(masks, index), draft_of(batch, index));
}

}  // namespace troupe
