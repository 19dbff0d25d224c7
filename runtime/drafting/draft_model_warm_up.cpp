#include <algorithm>
#include <utility>

#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"

namespace troupe {

executor_limits draft_model::step_limits() const {
  return {.max_rows = options_.max_rows,
          .max_sequences = options_.max_sequences,
          .max_model_len = options_.max_model_len,
          .block_size = device_->layout().block_size};
}

warm_up_task draft_model::scratch_task(const warm_up_item& item, bool needs_graph) const {
  warm_up_task task{item, scratch_batch(item, device_->layout(), step_limits(), options_.vocab_size)};
  task.item.sampler_rows = std::min(item.sampler_rows, options_.max_rows);
  task.batch.needs_graph = needs_graph;
  return task;
}

std::chrono::nanoseconds draft_model::run_scratch(const warm_up_task& task) {
  const std::chrono::nanoseconds began = options_.now();
  run_warm_up(*device_, task);
  return options_.now() - began;
}

// Where the model verifies n rows, drafting for n requests is timed: the first step of each only warms the
// caches.
void draft_model::warm_up(const warm_up_item& item, bool needs_graph) {
  if (item.phase != warm_up_phase::verification) {
    if (item.sampler_batch <= options_.max_rows) run_scratch(scratch_task(item, needs_graph));
    return;
  }
  const std::int32_t requests = item.shape.query;
  if (requests > options_.max_sequences || requests > options_.max_rows) return;
  warm_up_item decode;
  decode.phase = warm_up_phase::decode;
  decode.shape = {requests, 1, 1};
  const std::chrono::nanoseconds took = run_scratch(scratch_task(decode, needs_graph));
  if (std::exchange(timed_rows_, requests) == requests) worth_.draft_step(requests, took);
}

// Steps of the model that are larger than any of this one are cut, so that several may be one.
bool draft_model::tune(const warm_up_item& item, result<void>& kept) {
  step_plans* plans = device_->plans();
  if (!tuning_.wanted || plans == nullptr) return true;
  const warm_up_task task = scratch_task(item, false);
  const std::int32_t rows = task.batch.num_rows();
  if (!plans->chosen().contains(rows)) {
    if (!tuner_) tuner_.emplace(step_plans::candidates());
    const step_plan_trial trial(*plans, *tuner_->next());
    tuner_->took(run_scratch(task).count());
    if (!tuner_->finished()) return false;
    plans->use(rows, tuner_->best());
    tuner_.reset();
  }
  const bool is_last = item.number == item.count;
  if (is_last && !tuning_.file.empty()) kept = write_tuning_file(tuning_.file, tuning_.key, plans->chosen());
  return true;
}

}  // namespace troupe
