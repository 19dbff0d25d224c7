// The model runner's part in the warm-up: scratch steps, and measuring which plans run them fastest.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "actors/runner/model_runner.hpp"
#include "runtime/drafting/draft_model.hpp"

namespace troupe {

caf::result<msg::warmed_up> model_runner_state::warm_up(const msg::warm_up& request,
                                                        const warm_up_task_ptr& task) {
  auto answer = self_->make_response_promise<msg::warmed_up>();
  later_.emplace_back([this, request, task, answer]() mutable {
    collect_all();
    answer.deliver(warm_up_now(request, *task));
  });
  go_on();
  return answer;
}

msg::warmed_up model_runner_state::warm_up_now(const msg::warm_up& request, const warm_up_task& task) try {
  if (task.item.phase == warm_up_phase::tuning) return tune(request, task);
  if (task.item.phase == warm_up_phase::verification) return time_verification(request, task);
  if (task.item.phase == warm_up_phase::sampler) return warm_up_sampling(request, task);
  const auto begin = parts_.now();
  run_warm_up(*device_, task);
  const std::chrono::nanoseconds took = parts_.now() - begin;
  warm_up_draft(task);
  return {request.item, took.count(), true};
} catch (const device_lost&) {
  throw;
} catch (const std::exception& fault) {
  if (task.batch.needs_graph && dynamic_cast<const out_of_device_memory*>(&fault) != nullptr) throw;
  spdlog::error("warm-up: {}", fault.what());
  device_->synchronize();  // what the step has begun reads what the next one writes
  tuner_.reset();
  is_tuned_ = false;
  verification_times_.clear();
  sampling_.reset();
  leave_out(task.item);
  return {request.item, 0, false};
}

// The model's plan for so many rows first, then the draft model's.
msg::warmed_up model_runner_state::tune(const msg::warm_up& request, const warm_up_task& task) {
  const auto begin = parts_.now();
  bool is_over = false;
  if (is_tuned_) {
    is_over = !draft_ || tune_draft(task.item);
  } else {
    is_tuned_ = tune_device(task);
    is_over = is_tuned_ && !draft_;
  }
  if (is_over) is_tuned_ = false;
  const std::chrono::nanoseconds took = parts_.now() - begin;
  return {request.item, took.count(), true, is_over};
}

bool model_runner_state::tune_device(const warm_up_task& task) {
  if (device_->plans() == nullptr) return true;
  step_plans& plans = *device_->plans();
  if (!tuner_ && plans.chosen().contains(task.batch.num_rows())) return true;  // by an earlier start
  if (!tuner_) tuner_.emplace(step_plans::candidates());
  const step_plan_trial trial(plans, *tuner_->next());
  const auto begin = parts_.now();
  run_warm_up(*device_, task);
  const std::chrono::nanoseconds took = parts_.now() - begin;
  tuner_->took(took.count());
  if (!tuner_->finished()) return false;
  plans.use(task.batch.num_rows(), tuner_->best());
  spdlog::info("steps of up to {} rows: {}, {:.2f} times as fast as untuned", task.batch.num_rows(),
               to_string(tuner_->best()), tuner_->gain());
  tuner_.reset();
  keep_tuning(task.item.number == task.item.count);
  return true;
}

bool model_runner_state::tune_draft(const warm_up_item& item) {
  bool is_over = true;
  with_draft(on_lack_of_memory::drop_drafts, [&] {
    result<void> kept;
    is_over = draft_->tune(item, kept);
    if (!kept) spdlog::warn("the draft model's tuning is not kept: {}", kept.error().message);
  });
  return is_over;
}

void model_runner_state::warm_up_draft(const warm_up_task& task) {
  const bool needs_graph = task.batch.needs_graph;
  with_draft(needs_graph ? on_lack_of_memory::shrink_kv_cache : on_lack_of_memory::drop_drafts,
             [&] { draft_->warm_up(task.item, needs_graph); });
}

// One step a message, so that a request never waits for more than that; the first one only warms the caches.
msg::warmed_up model_runner_state::time_verification(const msg::warm_up& request, const warm_up_task& task) {
  constexpr std::size_t rounds = 6;
  const auto begin = parts_.now();
  run_warm_up(*device_, task);
  const std::chrono::nanoseconds took = parts_.now() - begin;
  warm_up_draft(task);
  verification_times_.push_back(took.count());
  if (verification_times_.size() < rounds) return {request.item, took.count(), true, false};
  std::vector<std::int64_t> times(std::exchange(verification_times_, {}));
  const std::int64_t least = *std::min_element(times.begin() + 1, times.end());
  if (draft_ && timed_step_of(task.item).is_usual())
    draft_->target_step(task.batch.num_rows(), std::chrono::nanoseconds(least));
  return {request.item, least, true, true};
}

// One setting a message, for the same reason.
msg::warmed_up model_runner_state::warm_up_sampling(const msg::warm_up& request, const warm_up_task& task) {
  const auto begin = parts_.now();
  if (!sampling_) sampling_.emplace(task.item.sampler_batch, task.item.sampler_rows);
  const bool is_over = sampling_->run_next(*device_);
  if (is_over) sampling_.reset();
  const std::chrono::nanoseconds took = parts_.now() - begin;
  if (is_over) warm_up_draft(task);
  return {request.item, took.count(), true, is_over};
}

// A stop loses no more than what is being timed.
void model_runner_state::keep_tuning(bool is_last) {
  if (parts_.tuning_file.empty() || !may_keep_tuning_) return;
  const result<void> written =
      write_tuning_file(parts_.tuning_file, parts_.tuned_for, device_->plans()->chosen());
  if (!written) {
    spdlog::warn("the tuning is not kept, nor is any that follows: {}", written.error().message);
    may_keep_tuning_ = false;
  } else if (is_last) {
    spdlog::info("tuning kept in {}", parts_.tuning_file.string());
  }
}

void model_runner_state::leave_out(const warm_up_item& item) {
  if (item.is_for_graph) return;  // that says nothing of a bucket of the same shape
  if (item.phase == warm_up_phase::prompt) buckets_.remove_prompt(item.shape);
  if (item.phase == warm_up_phase::decode) buckets_.remove_decode(item.shape);
  if (item.phase == warm_up_phase::unified) buckets_.remove(item.unified);
}

}  // namespace troupe
