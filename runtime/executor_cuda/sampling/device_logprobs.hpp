// Log-probabilities of sampled tokens and of prompts, on the device: the host reads back what is told, not
// the logits. As runtime/sampling has them, but for the last bit of a logarithm
// (kernels/cuda/sampling/log_probabilities.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/sampling/log_probabilities.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

class device_logprobs {
 public:
  // `rows`: computed at once. `most`: of a step.
  device_logprobs(std::int32_t vocab_size, std::int32_t rows, std::int32_t most);

  // Whether so many of the best tokens can be told.
  static bool can_tell(std::int32_t top) { return top <= kernels::cuda::max_top_logprobs; }

  // Begins a step. What was asked for before must be over.
  void clear();
  // Those of sample `sample`, whose token will lie at `token`: of its logits, which stay as they are, among
  // what `mask` allows; null: all. All but `sample` and `top` lie on the device.
  void add(std::size_t sample, std::int32_t top, const float* logits, const std::uint32_t* mask,
           const token_id* token);
  // Those of the prompt row `prompt` of the step.
  void add_prompt(std::size_t prompt, const prompt_logprob_row& asked, const float* logits);
  // What has been added since the last time travels, and is computed when that is there.
  void send(const cuda_stream& copies);
  void compute(const cuda_stream& compute);
  // All of the step, behind the last compute().
  void fetch(const cuda_stream& copies) const;
  // Once that is over: into a result whose tokens are there already.
  void take(step_result& result) const;

  std::size_t bytes() const;  // on the device

 private:
  // Whose a row is.
  struct owner {
    bool is_prompt = false;
    std::size_t index = 0;
    std::int32_t top = 0;
  };
  void add_row(const owner& whose, const kernels::cuda::logprob_row& row, token_id next);

  std::int32_t vocab_size_;
  std::int32_t max_top_;
  std::vector<owner> owners_;  // of the step's rows
  std::size_t sent_ = 0;       // so many of them, ...
  std::size_t computed_ = 0;   // ... and so many
  pinned_memory rows_;         // [most] kernels::cuda::logprob_row
  pinned_memory next_;         // [most] the tokens of prompt rows
  device_array<kernels::cuda::logprob_row> device_rows_;
  device_array<token_id> device_next_;
  device_memory workspace_;
  // What the device finds, and the same on the host: [most], best tokens [most][max_top_].
  device_array<float> logprobs_;
  device_array<std::int32_t> ranks_;
  device_array<token_id> top_ids_;
  device_array<float> top_logprobs_;
  pinned_memory found_logprobs_;
  pinned_memory found_ranks_;
  pinned_memory found_top_ids_;
  pinned_memory found_top_logprobs_;
};

}  // namespace troupe
