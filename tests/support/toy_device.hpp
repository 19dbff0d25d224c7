// A device for a language of a few tokens, small enough for all its texts to be enumerated: the logits are a
// fixed random function of the last two tokens, which are read from KV memory; the sampler is the real one.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {

class toy_language {
 public:
  // Another key is another language.
  explicit toy_language(std::uint64_t key, std::int32_t vocab = 8) : key_(key), vocab_(vocab) {}

  std::int32_t vocab() const { return vocab_; }
  const std::vector<float>& logits_after(token_id before, token_id last);
  // What some grammar allows there.
  std::vector<std::uint32_t> allowed_after(token_id before, token_id last) const;

 private:
  std::uint64_t key_;
  std::int32_t vocab_;
  std::map<std::pair<token_id, token_id>, std::vector<float>> known_;
};

class toy_device final : public executor {
 public:
  toy_device(kv_layout layout, const toy_language& language);

  kv_layout layout() const override { return layout_; }
  void forward(const device_batch& batch) override;
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override;
  std::string kernel_path() const override { return "toy"; }

  // The last two tokens before a sample, as they are stored.
  std::pair<token_id, token_id> before(const device_batch& batch, const sample_row& sample) const;

 private:
  token_id stored(std::span<const std::int32_t> table, std::int32_t position) const;

  kv_layout layout_;
  toy_language language_;
  std::vector<token_id> memory_;  // by slot, the scratch block's too
  sampler_scratch scratch_;
};

}  // namespace troupe
