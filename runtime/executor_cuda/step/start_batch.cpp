#include "runtime/executor_cuda/step/start_batch.hpp"

#include <memory>
#include <utility>

#include "runtime/executor/check_batch.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"

namespace troupe {
namespace {

// Has the last sample be a draft, or else accept or reject one.
void draw_last_by_chance(device_batch& batch, bool is_draft, kept_distribution& kept) {
  static constexpr token_id guessed = 0;
  static constexpr float certain = 1.0F;
  static const drafted_token guess{guessed, {{&guessed, 1}, {&certain, 1}}};
  batch.verified.assign(batch.samples.size(), nullptr);
  batch.kept.assign(batch.samples.size(), nullptr);
  if (is_draft) {
    batch.kept.back() = &kept;
  } else {
    batch.verified.back() = &guess;
  }
}

void tell_log_probability(sample_row& sample) {
  auto told = std::make_shared<sampling_params>(*sample.sampling);
  told->logprobs = 1;
  sample.sampling = std::move(told);
}

}  // namespace

device_batch start_batch(const model_config& config, const kv_layout& layout, const executor_limits& limits,
                         kept_distribution& kept) {
  device_batch batch = profiling_batch(layout, limits, config.vocab_size);
  draw_last_by_chance(batch, limits.kept_at_once > 0, kept);
  tell_log_probability(batch.samples.back());
  check_batch(batch, config, limits, layout);
  batch.copies.push_back({0, 0});  // which no step of requests' may
  return batch;
}

}  // namespace troupe
