// Feeds tokens forward: a step may be planned while the one that samples its tokens still runs. Whoever runs
// the steps keeps one of these beside the executor.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/executor/device_batch.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

class token_feed {
 public:
  // The batch with the tokens of the remembered steps filled in. A token of a step that failed is 0: its
  // sequence has ended, nobody reads what comes of it. Valid until the next call; allocates nothing once it
  // has grown to the largest batch. What the device is to verify is the caller's to say.
  device_batch& resolve(const step_batch& batch);
  // Takes note of what a step has sampled, for the steps planned while it ran.
  void remember(const step_result& result);

 private:
  struct sampled_step {
    std::uint64_t step = 0;
    std::vector<token_id> tokens;
  };
  token_id find(const token_source& source) const;
  void gather_tables(const step_batch& batch);

  std::array<sampled_step, most_steps_in_flight> steps_;  // a ring by step number
  device_batch batch_;
};

}  // namespace troupe
