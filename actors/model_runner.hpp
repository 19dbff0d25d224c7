// The actor that owns the executor. Whoever spawns it decides whether it has a thread of its own
// (caf::detached).
#pragma once
#include <memory>

#include "actors/interfaces.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/bucketing/step_buckets.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/token_feed.hpp"
#include "runtime/executor/warm_up.hpp"

namespace troupe {

struct model_runner_parts {
  std::shared_ptr<executor> device;
  bucket_plan buckets;
  bool pad_to_buckets = false;
  std::shared_ptr<metrics::engine_metrics> metrics;
};

class model_runner_state {
 public:
  static inline const char* name = "model_runner";

  void start(model_runner_parts parts);
  // A bucket whose scratch step fails is left out from now on.
  msg::warmed_up warm_up(const msg::warm_up& request, const warm_up_task& task);
  // An exception of the executor becomes an error; the text goes to the log only.
  caf::result<msg::step_done, step_result_ptr> run_step(const step_batch& batch);

 private:
  // Nothing where the executor threw.
  std::optional<std::chrono::nanoseconds> execute(const step_batch& batch, step_result& result);
  // The rows as the device is to read them: in their buckets where steps are padded. Counts either way.
  const device_batch& in_buckets(const device_batch& rows);
  void count(const step_placement& placement);
  void leave_out(const warm_up_item& item);

  std::shared_ptr<executor> device_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  step_buckets buckets_;
  std::int32_t block_size_ = 1;
  bool pad_to_buckets_ = false;
  device_batch padded_;
  token_feed feed_;
};

model_runner_actor::behavior_type model_runner_behavior(
    model_runner_actor::stateful_pointer<model_runner_state> self, model_runner_parts parts);

}  // namespace troupe
