// The first device: its weights, what its largest step takes, and its KV cache.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/start/engine_options.hpp"
#include "actors/start/engine_steps.hpp"
#include "actors/start/model_files.hpp"
#include "runtime/isolation/executor_place.hpp"

namespace troupe {

// The limits of the options with those that the model and the device's memory set: what make_buckets() is
// told.
engine_sizes sizes_of(const engine_options& options, std::int32_t max_model_len, std::int32_t num_blocks);

// A device with its weights and all its memory: the phases of the start that come before the warm-up.
struct started_device {
  std::shared_ptr<executor> device;
  std::shared_ptr<executor> draft_device;  // before its KV cache; null: there is no draft model
  cpu_executor_options options;            // of another device that is the same
  std::string choices;                     // of the device, for that one, and ...
  std::string draft_choices;               // ... of the draft model's
  std::optional<cpu_executor_options> last_resort;
  padded_limits padded;
  std::vector<std::int32_t> graphs;           // rows of the decode steps that it captures
  std::optional<std::int64_t> too_many_rows;  // buckets of so many are left out
};

// Says in the log what it does. Errors: those of load_target(), options_on_cpu(), make_buckets(),
// open_draft_device(), and of an executor that is given its memory. Throws device_lost where the device, or
// its process, is gone.
result<started_device> start_device(executor_place& place, const engine_options& options,
                                    const model_files& files);

}  // namespace troupe
