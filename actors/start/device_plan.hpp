// How a device is opened, at first and should it be lost.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "actors/start/engine_options.hpp"
#include "actors/start/engine_steps.hpp"
#include "actors/start/load_draft_model.hpp"
#include "actors/start/runner_device.hpp"
#include "runtime/isolation/executor_place.hpp"

namespace troupe {

// The model's executor, its start still to come: in a process of its own, where there are any. Errors: those
// of executor_place::begin() and load().
result<std::unique_ptr<executor>> load_target(executor_place& place, const cpu_executor_options& cpu);

// What another device is made of, should one be lost.
struct device_plan {
  std::shared_ptr<executor_place> place;
  cpu_executor_options cpu;
  std::optional<cpu_executor_options> last_resort;  // on the CPU, should a CUDA device not come back
  padded_limits padded;
  tuning_key tuned_for;
  std::filesystem::path tuning_file;
  std::string choices;  // of the first one
  std::optional<draft_file> draft;
  std::string draft_choices;
  engine_options options;  // of the first one
  drafted_for target;
  std::int32_t num_blocks = 0;  // of the first one's KV cache
};

// The model on another device and, where that is wanted, its draft model, if it can be opened too. Errors:
// those of load_target(), reserve_steps(), profile() and take_kv_cache(); resource_exhausted (no KV memory
// for one context).
result<runner_device> reopen(const device_plan& plan, bool with_draft);

// The same on the CPU, by plan.last_resort. Errors besides: those of executor_place::turn_to_cpu().
result<runner_device> reopen_on_cpu(const device_plan& plan, bool with_draft);

// For plan.last_resort: what the options say of the CPU, for a model that `cpu` opens on a CUDA device.
// Errors: those of check_cpu_device() and kv_pool::create_scratch().
result<cpu_executor_options> options_on_cpu(const engine_options& options, const model_config& config,
                                            const cpu_executor_options& cpu);

// The processes of `place`.
device_process process_of(const std::shared_ptr<executor_place>& place);

}  // namespace troupe
