// Tokens from logits on the device, and log-probabilities. What the device does not do itself (those of more
// than 64 tokens, or of many rows whose logits are changed, and what is kept without room for it) is done on
// the host with copies of the rows in question.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_event.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "runtime/executor_cuda/sampling/device_logprobs.hpp"
#include "runtime/executor_cuda/sampling/kept_rows.hpp"
#include "runtime/executor_cuda/sampling/sampling_stage.hpp"
#include "runtime/executor_cuda/step/step_clock.hpp"
#include "runtime/sampling/sampler.hpp"
#include "runtime/step_masks.hpp"

namespace troupe {

// Rows of logits, f32, `stride` floats apart.
struct device_logits {
  float* data = nullptr;
  std::size_t stride = 0;
};

class device_sampler {
 public:
  // `rows`: of logits computed at once. `most`: of a step.
  device_sampler(std::int32_t vocab_size, const executor_limits& limits, std::int32_t rows, std::int32_t most,
                 std::vector<token_id> end_tokens);

  // What is asked of it, and where.
  struct work {
    const cuda_stream& compute;
    const cuda_stream& copies;
    const device_batch& batch;
    const step_masks* masks = nullptr;
    // Computes the logits of rows [first, first + count) of flat_step::logit_rows, on `compute`.
    std::function<device_logits(std::int32_t first, std::int32_t count)> logits;
    step_clock* clock = nullptr;  // where not null, hears of the last work on `compute`
  };

  // executor::sample(): all samples, then all prompt rows, as many at once as there is room for.
  void sample(const work& work, step_result& result);
  // executor::begin_sample(): where the device draws all of it, at once.
  bool begin(const work& work);
  // executor::collect().
  bool collect(step_result& result);
  // What was drawn last, by sample, in the device's memory.
  const token_id* tokens() const { return tokens_.data(); }

  std::size_t bytes() const {  // on the device
    return stage_.bytes() + workspace_.size() + tokens_.bytes() + logprobs_.bytes() + changed_.bytes() +
           kept_.bytes();
  }

 private:
  void fetch(const work& work);
  void take(step_result& result) const;
  void sample_rows(const work& work, std::int32_t first, std::int32_t count, const device_logits& logits,
                   step_result& result);
  void draw(const work& work, std::int32_t first, const device_logits& logits);
  void divide(const device_batch& batch);
  void add_logprobs(const work& work, std::int32_t first, const device_logits& logits);
  void tell_prompts(const work& work, std::int32_t first, std::int32_t count, const device_logits& logits);
  std::int32_t stage_rows(const device_batch& batch, const step_masks* masks, std::int32_t first,
                          std::int32_t end);
  bool stage_row(const device_batch& batch, const step_masks* masks, std::size_t sample, float*& changed);
  void finish_on_host(const work& work, std::int32_t first, std::int32_t count, const device_logits& logits,
                      step_result& result);
  void finish_row(const device_batch& batch, const step_masks* masks, std::size_t index, const float* logits,
                  step_result& result);

  std::int32_t vocab_size_;
  std::int32_t rows_;
  std::vector<token_id> end_tokens_;
  sampling_stage stage_;
  device_memory workspace_;
  device_array<token_id> tokens_;  // [most]
  pinned_memory sampled_;          // [most]: the same on the host
  device_logprobs logprobs_;
  std::size_t copy_stride_;      // rows of logits begin at multiples of 16 bytes
  device_array<float> changed_;  // [copies_at_once][copy_stride_] logits where the model's are told of, too
  kept_rows kept_;
  pinned_memory copied_;         // [rows_finished_at_once][vocab_size] logits
  cuda_event staged_;            // the stage has arrived
  cuda_event drawn_;             // the tokens are drawn, and ...
  cuda_event fetched_;           // ... on the host
  std::uint64_t step_ = 0;       // whose they are
  std::vector<request_id> ids_;  // [samples] of it
  // [samples, then rows of prompts]: whether the device does all that is asked of them
  std::vector<bool> is_theirs_;
  std::size_t num_prompts_ = 0;  // rows of prompts
  std::vector<std::int32_t> on_host_;
  sampler_scratch scratch_;
};

}  // namespace troupe
