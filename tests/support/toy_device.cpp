#include "tests/support/toy_device.hpp"

#include <algorithm>
#include <cstddef>

#include "runtime/sampling/philox.hpp"

namespace troupe {
namespace {

constexpr double spread = 3.5;

std::uint64_t number_of(std::uint64_t key, token_id before, token_id last) {
  return (key << 40U) + (static_cast<std::uint64_t>(before) << 20U) + static_cast<std::uint64_t>(last);
}

}  // namespace

const std::vector<float>& toy_language::logits_after(token_id before, token_id last) {
  std::vector<float>& logits = known_[{before, last}];
  for (std::int32_t token = static_cast<std::int32_t>(logits.size()); token < vocab_; ++token) {
    const double u = uniform(number_of(key_, before, last), static_cast<std::uint64_t>(token));
    logits.push_back(static_cast<float>(spread * u));
  }
  return logits;
}

std::vector<std::uint32_t> toy_language::allowed_after(token_id before, token_id last) const {
  std::vector<std::uint32_t> allowed(static_cast<std::size_t>(vocab_ + 31) / 32);
  for (token_id token = 0; token < vocab_; ++token) {
    const double u = uniform(number_of(99, before, last), static_cast<std::uint64_t>(token));
    if (token == last || u < 0.5) add_token(allowed, token);
  }
  return allowed;
}

toy_device::toy_device(kv_layout layout, const toy_language& language)
    : layout_(std::move(layout)),
      language_(language),
      memory_(static_cast<std::size_t>(layout_.num_blocks + 1) *
              static_cast<std::size_t>(layout_.block_size)) {}

void toy_device::forward(const device_batch& batch) {
  const auto size = static_cast<std::ptrdiff_t>(layout_.block_size);
  for (const block_copy& copy : batch.copies)
    std::copy_n(memory_.begin() + copy.from * size, size, memory_.begin() + copy.to * size);
  for (std::size_t row = 0; row < batch.tokens.size(); ++row)
    if (batch.slots[row] != no_slot) memory_[static_cast<std::size_t>(batch.slots[row])] = batch.tokens[row];
}

token_id toy_device::stored(std::span<const std::int32_t> table, std::int32_t position) const {
  if (position < 0) return 0;
  const auto entry = static_cast<std::size_t>(position / layout_.block_size);
  const std::int32_t slot = table[entry] * layout_.block_size + position % layout_.block_size;
  return memory_[static_cast<std::size_t>(slot)];
}

std::pair<token_id, token_id> toy_device::before(const device_batch& batch, const sample_row& sample) const {
  const std::span<const std::int32_t> table = batch.table(static_cast<std::size_t>(sample.sequence));
  return {stored(table, sample.position - 2), stored(table, sample.position - 1)};
}

void toy_device::sample(const device_batch& batch, const step_masks* masks, step_result& result) {
  result.step = batch.step;
  result.tokens.clear();
  result.tokens.resize(batch.samples.size());
  result.prompt_logprobs.clear();
  if (batch.step == 0) return;  // of the warm-up
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const sample_row& sample = batch.samples[i];
    const auto [second, last] = before(batch, sample);
    const std::vector<float>& logits = language_.logits_after(second, last);
    const auto mask = masks == nullptr ? std::span<const std::uint32_t>() : masks->mask_of(i);
    const drafted_token* draft = batch.verified.empty() ? nullptr : batch.verified[i];
    result.tokens[i] = !batch.kept.empty() && batch.kept[i] != nullptr
                           ? sample_draft(logits, sample, {}, scratch_, *batch.kept[i])
                           : sample_token(logits, sample, {}, scratch_, mask, draft);
    result.tokens[i].id = batch.sequences[static_cast<std::size_t>(sample.sequence)].id;
  }
}

}  // namespace troupe
