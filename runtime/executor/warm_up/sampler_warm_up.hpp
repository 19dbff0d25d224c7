// The sampler's warm-up, after vLLM's for Gaudi (hpu_model_runner.py, warmup_sampler): every batch size with
// every setting, once with the batch changed and once as it was, through the executor's own sampling.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/executor/executor.hpp"

namespace troupe {

// One way of sampling; all of them stand in a table of sampler_warm_up.cpp. What a whole step of rows that
// verify drafts takes is measured by a phase of its own (warm_up.hpp).
struct sampler_setting {
  float temperature = 0.0F;
  float top_p = 1.0F;
  std::int32_t top_k = 0;
  float min_p = 0.0F;
  float penalty = 0.0F;  // for frequency and presence
  bool masked = false;   // as by a grammar
  // Verified a sequence: so many samples more, each behind a draft.
  std::int32_t drafts = 0;
  bool by_chance = false;  // the drafts are accepted or rejected by what they were drawn from
};
std::span<const sampler_setting> sampler_settings();

// 0, 1 and the distinct batch sizes of the decode (or non-causal unified) buckets, ascending.
// None above `most`, the rows of a step.
std::vector<std::int32_t> sampler_batch_sizes(const bucket_plan& plan, std::int32_t most);

// "Warming up sampler with batch sizes: [0, 1, 138] and following configs:", then a line per setting,
// "temp=0.7, top_p=0.9, top_k=50, batch_changed=True", with "min_p=0.1", "penalty=0.5", "masked", "drafts=4"
// or "drafts=4, by chance" before the last where a setting has it, then "Starting sampler warmup...".
std::vector<std::string> describe_sampler_warm_up(std::span<const std::int32_t> sizes);

// One batch size: dummy hidden states and requests, all settings with the batch changed, then all as it was,
// one after the other; steps of requests may come in between. A batch whose samples are more than
// `most_rows`, the rows of a step, is cut to them.
class sampler_course {
 public:
  sampler_course(std::int32_t batch_size, std::int32_t most_rows);
  ~sampler_course();
  sampler_course(sampler_course&&) noexcept;
  sampler_course& operator=(sampler_course&&) noexcept;

  // The next setting; true where it was the last, and the device is done with all. Throws what the executor
  // throws; not to be called again then.
  bool run_next(executor& device);

 private:
  class state;
  std::unique_ptr<state> state_;
};

// All of it.
void warm_up_sampler(executor& device, std::int32_t batch_size, std::int32_t most_rows);

}  // namespace troupe
