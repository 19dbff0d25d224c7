// Feeds tokens forward: a step may be planned while the one that samples its tokens still runs. Whoever runs
// the steps keeps one of these beside the executor.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/executor/device_batch.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

class token_feed {
 public:
  // The batch with the tokens of the remembered steps filled in. A token of a step that failed is 0: its
  // sequence has ended, nobody reads what comes of it. Valid until the next call; allocates nothing once it
  // has grown to the largest batch. What the device is to verify is the caller's to say.
  //
  // `uncollected`: a step whose tokens the device alone knows. The rows that take them are named in
  // device_batch::fed, and the batch of that step is valid still.
  device_batch& resolve(const step_batch& batch, std::optional<std::uint64_t> uncollected = std::nullopt);
  // Once that step is remembered: its tokens in the histories of `into`, which has the samples of `batch` in
  // their order.
  void complete_histories(const step_batch& batch, device_batch& into) const;
  // Takes note of what a step has sampled, for the steps planned while it ran.
  void remember(const step_result& result);

 private:
  struct sampled_step {
    std::uint64_t step = 0;
    std::vector<token_id> tokens;
  };
  token_id find(const token_source& source) const;
  void feed_rows(const step_batch& batch, std::optional<std::uint64_t> uncollected, device_batch& into) const;

  std::array<sampled_step, most_steps_in_flight> steps_;  // a ring by step number
  std::array<device_batch, 2> batches_;                   // the other one where a step is uncollected
  std::size_t last_ = 0;
};

}  // namespace troupe
