// How long an executor's steps take, on contexts of their own as requests have them.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"

namespace troupe {

// Medians in microseconds.
struct step_time {
  double whole = 0;   // from step to step, as the host sees it
  double device = 0;  // from the step's first work on the device to its last
  double gap = 0;     // from there to the first work of the next step: the device has nothing to do
  double idle_share() const { return gap + device > 0 ? gap / (gap + device) : 0.0; }
};

// Hears of each step what cuda_executor_options::step_timed tells.
struct step_watch {
  std::vector<double> device;
  std::vector<double> gaps;
  void note(double busy, double idle) {
    device.push_back(busy);
    gaps.push_back(idle);
  }
};

// `rounds` steps, after some that warm up and capture: each asked for before the tokens of the one before are
// collected, where the device overlaps. `now` in microseconds; `watch` is what hears of this executor's
// steps.
step_time time_steps(executor& device, const device_batch& batch, std::int32_t rounds,
                     const std::function<double()>& now, step_watch& watch);

// Any tokens, the same each time.
std::vector<token_id> some_tokens(std::int32_t count, std::int32_t vocab_size);

// `tokens` as the rows of one more sequence from position `first` on, its context in the blocks from
// `first_block` on; nothing is sampled.
void add_rows(device_batch& batch, const std::vector<token_id>& tokens, std::int32_t first,
              std::int32_t first_block, const kv_layout& layout);
// As the only ones.
device_batch rows_of(const std::vector<token_id>& tokens, std::int32_t first, std::int32_t first_block,
                     const kv_layout& layout);

// A greedy decode of so many sequences, each at the end of `context` tokens of its own, which are computed
// first, at most `max_rows` a step. Contexts are shorter where the KV cache has no room for them.
struct decode_step {
  device_batch batch;
  std::int32_t context = 0;
};
decode_step prepare_decode(executor& device, std::int32_t sequences, std::int32_t context,
                           std::int32_t max_rows, std::int32_t vocab_size);

}  // namespace troupe
