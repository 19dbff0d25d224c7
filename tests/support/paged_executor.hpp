// A device whose tokens show every mistake in the bookkeeping of KV memory: each row reads all K and V that
// its sequence has stored, through its block table, and the sampled token is a hash of them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"

namespace troupe {

// What a device answers for a sequence of these tokens, computed from the tokens alone.
struct expected_row {
  token_id token = 0;  // in [0, vocab)
  float logprob = 0.0F;
};
expected_row expect_row(const std::vector<token_id>& tokens, const sampling_params& params,
                        std::int32_t vocab);

class paged_executor final : public executor {
 public:
  paged_executor(kv_layout layout, std::int32_t vocab);

  kv_layout layout() const override { return layout_; }
  void forward(const device_batch& batch) override;
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override;
  std::string kernel_path() const override { return "paged"; }
  // What a step that failed half way may leave behind: anything, in the slots that it may write.
  void scribble(const device_batch& batch);

 private:
  std::uint64_t read(std::span<const std::int32_t> table, std::int32_t last_position) const;
  kv_layout layout_;
  std::int32_t vocab_;
  std::vector<std::uint64_t> memory_;  // [num_blocks * block_size]
};

// What contradicts itself in a batch, if anything: rows, positions, slots, tables, samples, limits.
std::string batch_fault(const step_batch& batch, std::int32_t block_size, std::int32_t num_blocks,
                        std::int32_t max_rows, std::int32_t max_sequences);

}  // namespace troupe
