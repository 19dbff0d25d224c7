// What the device needs to draw the tokens of some samples: a row for each and the lists that it points to,
// in one stretch that one transfer carries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/sampling/sampling.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "runtime/sampling/sampler.hpp"
#include "runtime/step_masks.hpp"

namespace troupe {

// What a sample is asked for beside its token.
struct sample_extras {
  const drafted_token* draft = nullptr;          // that it accepts or rejects, the host's; null: none
  kernels::cuda::device_distribution kept = {};  // where what it is drawn from is left; nothing: nowhere
  float* processed = nullptr;  // where its changed logits go, the device's; null: in place of the logits
};

class sampling_stage {
 public:
  // Holds the lists of at most `bytes`, and at least one sample whatever it needs within these limits.
  sampling_stage(std::int32_t max_rows, std::int32_t vocab_size, std::int32_t max_model_len,
                 std::size_t bytes = std::size_t{4} << 20U);

  // Begins anew. What was sent before must have arrived.
  void clear();
  // The row of a sample. False, and nothing changed, where there is no room left for it.
  bool add(const sample_row& sample, std::span<const token_id> end_tokens,
           std::span<const std::uint32_t> mask, const sample_extras& extras = {});
  // A row that only keeps its place: its token is the greatest logit's.
  bool add_placeholder();

  std::int32_t num_rows() const { return num_rows_; }
  const kernels::cuda::sampling_needs& needs() const { return needs_; }
  void send(const cuda_stream& stream) const;
  const kernels::cuda::sampling_row* rows() const;  // the device's
  // The mask of a row, where it will lie on the device; null: none.
  const std::uint32_t* mask(std::int32_t row) const;
  std::size_t bytes() const { return device_.size(); }

 private:
  // Copies to behind what is there; the address that it will have on the device.
  template <class T>
  const T* keep(std::span<const T> values);
  // A mask that ends before the vocabulary does allows nothing behind its end.
  const std::uint32_t* keep_mask(std::span<const std::uint32_t> mask);
  void add_banned(kernels::cuda::sampling_row& row, std::span<const token_id> end_tokens,
                  std::span<const token_id> stop_tokens);
  void add_biases(kernels::cuda::sampling_row& row, const sampling_params& params);
  void add_draft(kernels::cuda::sampling_row& row, const drafted_token& draft);
  void note_needs(const sampling_params& params, const kernels::cuda::sampling_row& row);

  std::int32_t max_rows_;
  std::size_t lists_begin_;
  pinned_memory host_;
  device_memory device_;
  std::size_t used_ = 0;
  std::int32_t num_rows_ = 0;
  std::int32_t vocab_size_;
  kernels::cuda::sampling_needs needs_;
  using token_bias = std::pair<token_id, float>;
  // Of a list that is put together.
  std::vector<token_id> ids_;
  std::vector<float> values_;
  std::vector<std::uint32_t> words_;
  std::vector<token_bias> sorted_;
};

}  // namespace troupe
