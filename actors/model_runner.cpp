#include "actors/model_runner.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "actors/measured.hpp"
#include "runtime/bucketing/bucket_text.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/pad_batch.hpp"

namespace troupe {
namespace {

std::vector<std::string> names_of(const bucket_plan& plan) {
  std::vector<std::string> names;
  const auto add = [&names](const auto& buckets) {
    for (const auto& each : buckets) names.push_back(to_string(each));
  };
  add(plan.prompt);
  add(plan.decode);
  add(plan.unified);
  return names;
}

}  // namespace

void model_runner_state::start(model_runner_parts parts) {
  device_ = std::move(parts.device);
  draft_ = std::move(parts.draft);
  metrics_ = std::move(parts.metrics);
  block_size_ = device_->layout().block_size;
  buckets_ = step_buckets(parts.buckets, block_size_);
  metrics_->add_buckets(names_of(parts.buckets));
  pad_to_buckets_ = parts.pad_to_buckets;
  tuning_file_ = std::move(parts.tuning_file);
  tuned_for_ = std::move(parts.tuned_for);
}

const device_batch* model_runner_state::forward(const step_batch& batch) try {
  const device_batch& rows = in_buckets(feed_.resolve(batch));
  device_->forward(rows);
  return &rows;
} catch (const std::exception& fault) {
  spdlog::error("step {} of {} rows failed: {}", batch.step, batch.num_rows(), fault.what());
  return nullptr;
}

bool model_runner_state::sample(const device_batch& rows, const step_masks* masks, step_result& result) try {
  device_->sample(rows, masks, result);
  if (masks != nullptr) note_masks(*masks, result);
  return true;
} catch (const std::exception& fault) {
  spdlog::error("step {} of {} rows failed: {}", rows.step, rows.num_rows(), fault.what());
  return false;
}

const device_batch& model_runner_state::in_buckets(const device_batch& rows) {
  if (buckets_.empty()) return rows;
  const step_placement placement = buckets_.place(rows);
  count(placement);
  if (!pad_to_buckets_) return rows;
  std::int32_t padding = 0;
  pad_batch(rows, placement, block_size_, padded_, padding);
  metrics_->add_bucket_padding(static_cast<std::uint64_t>(padding));
  return padded_;
}

void model_runner_state::count(const step_placement& placement) {
  if (placement.prompt) metrics_->count_bucket_execution(to_string(*placement.prompt));
  if (placement.decode) metrics_->count_bucket_execution(to_string(*placement.decode));
  if (placement.unified) metrics_->count_bucket_execution(to_string(*placement.unified));
  if (placement.fallbacks() == 0) return;
  metrics_->add_bucket_fallbacks(static_cast<std::uint64_t>(placement.fallbacks()));
  if (!pad_to_buckets_) return;  // every step runs as it is: nothing to warn of
  const auto warn = [](const char* kind, const auto& shape) {
    spdlog::warn("a {} of shape {} is beyond every bucket and runs as it is", kind, to_string(shape));
  };
  if (placement.prompt_beyond && buckets_.is_new(*placement.prompt_beyond, true))
    warn("prompt", *placement.prompt_beyond);
  if (placement.decode_beyond && buckets_.is_new(*placement.decode_beyond, false))
    warn("decode", *placement.decode_beyond);
  if (placement.unified_beyond && buckets_.is_new(*placement.unified_beyond))
    warn("unified step", *placement.unified_beyond);
}

caf::result<msg::warmed_up> model_runner_state::warm_up(const msg::warm_up& request,
                                                        const warm_up_task_ptr& task) {
  auto answer = self_->make_response_promise<msg::warmed_up>();
  later_.emplace_back(
      [this, request, task, answer]() mutable { answer.deliver(warm_up_now(request, *task)); });
  go_on();
  return answer;
}

msg::warmed_up model_runner_state::warm_up_now(const msg::warm_up& request, const warm_up_task& task) try {
  if (task.item.phase == warm_up_phase::tuning) return tune(request, task);
  if (task.item.phase == warm_up_phase::verification) return time_verification(request, task);
  const auto begin = std::chrono::steady_clock::now();
  run_warm_up(*device_, task);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  return {request.item, took.count(), true};
} catch (const std::exception& fault) {
  spdlog::error("warm-up: {}", fault.what());
  tuner_.reset();
  verification_times_.clear();
  leave_out(task.item);
  if (task.item.phase == warm_up_phase::tuning && task.item.number == task.item.count) keep_tuning();
  return {request.item, 0, false};
}

msg::warmed_up model_runner_state::tune(const msg::warm_up& request, const warm_up_task& task) {
  step_plans* plans = device_->plans();
  if (plans == nullptr) return {request.item, 0, true, true};
  const std::int32_t rows = task.batch.num_rows();
  if (!tuner_) tuner_.emplace(step_plans::candidates());
  const step_plan_trial trial(*plans, *tuner_->next());
  const auto begin = std::chrono::steady_clock::now();
  run_warm_up(*device_, task);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  tuner_->took(took.count());
  if (!tuner_->finished()) return {request.item, took.count(), true, false};
  plans->use(rows, tuner_->best());
  spdlog::info("steps of up to {} rows: {}, {:.2f} times as fast as untuned", rows, to_string(tuner_->best()),
               tuner_->gain());
  tuner_.reset();
  if (task.item.number == task.item.count) keep_tuning();
  return {request.item, took.count(), true, true};
}

// One step a message, so that a request never waits for more than that; the first one only warms the caches.
msg::warmed_up model_runner_state::time_verification(const msg::warm_up& request, const warm_up_task& task) {
  constexpr std::size_t rounds = 6;
  const auto begin = std::chrono::steady_clock::now();
  run_warm_up(*device_, task);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  verification_times_.push_back(took.count());
  if (verification_times_.size() < rounds) return {request.item, took.count(), true, false};
  std::vector<std::int64_t> times(std::exchange(verification_times_, {}));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(rounds / 2);
  std::nth_element(times.begin() + 1, middle, times.end());
  if (draft_) draft_->target_step(task.batch.num_rows(), std::chrono::nanoseconds(*middle));
  return {request.item, *middle, true, true};
}

void model_runner_state::keep_tuning() const {
  if (tuning_file_.empty()) return;
  const result<void> written = write_tuning_file(tuning_file_, tuned_for_, device_->plans()->chosen());
  if (written) {
    spdlog::info("tuning kept in {}", tuning_file_.string());
  } else {
    spdlog::warn("the tuning is not kept: {}", written.error().message);
  }
}

void model_runner_state::leave_out(const warm_up_item& item) {
  if (item.phase == warm_up_phase::prompt) buckets_.remove_prompt(item.shape);
  if (item.phase == warm_up_phase::decode) buckets_.remove_decode(item.shape);
  if (item.phase == warm_up_phase::unified) buckets_.remove(item.unified);
}

caf::result<msg::step_done, step_result_ptr> model_runner_state::run_step(const step_batch_ptr& batch) {
  auto answer = self_->make_response_promise<msg::step_done, step_result_ptr>();
  if (held_) {
    later_.emplace_back([this, batch, answer] { begin(batch, answer); });
  } else {
    begin(batch, answer);
    go_on();
  }
  return answer;
}

caf::result<step_result_ptr> model_runner_state::apply_masks(step_masks_ptr masks) {
  auto answer = self_->make_response_promise<step_result_ptr>();
  masks_.push_back({std::move(masks), answer});
  go_on();
  return answer;
}

void model_runner_state::begin(const step_batch_ptr& batch, step_promise answer) {
  const auto began = std::chrono::steady_clock::now();
  const device_batch* rows = forward(*batch);
  held_ = held_step{batch, rows, std::chrono::steady_clock::now() - began, std::move(answer)};
}

void model_runner_state::go_on() {
  while (true) {
    if (!held_) {
      if (later_.empty()) return;
      const std::function<void()> next = std::move(later_.front());
      later_.pop_front();
      next();
    } else if (held_->batch->masked_samples.empty()) {
      finish(nullptr, nullptr);
    } else if (!masks_.empty() && masks_.front().masks->step == held_->batch->step) {
      known_masks known = std::move(masks_.front());
      masks_.pop_front();
      finish(known.masks.get(), &known.answer);
    } else {
      return;
    }
  }
}

void model_runner_state::finish(const step_masks* masks, masks_promise* answer) {
  const auto began = std::chrono::steady_clock::now();
  const auto sampled = std::make_shared<step_result>();
  const bool succeeded = held_->rows != nullptr && sample(*held_->rows, masks, *sampled);
  held_step ended = std::move(*held_);
  held_.reset();
  if (!succeeded) {
    if (answer != nullptr) answer->deliver(caf::make_error(caf::sec::runtime_error, "step failed"));
    ended.answer.deliver(caf::make_error(caf::sec::runtime_error, "step failed"));
    return;
  }
  feed_.remember(*sampled);
  const step_result_ptr result = sampled;
  if (answer != nullptr) answer->deliver(result);
  const std::chrono::nanoseconds took = ended.took + (std::chrono::steady_clock::now() - began);
  ended.answer.deliver(msg::step_done{ended.batch->step, took.count()}, result);
}

void model_runner_state::observe(const draft_work& work) {
  if (!draft_) return;
  for (const engine_request_ptr& request : work.opened)
    draft_->open(request->id, request->prompt, *request->sampling);
  work.news.tell(*draft_);
}

drafts_ptr model_runner_state::propose(const draft_work& work) try {
  observe(work);
  auto drafts = std::make_shared<std::vector<draft>>();
  if (!draft_) return drafts;
  std::vector<request_id> ids;
  for (const draft_news::output& each : work.news.outputs) ids.push_back(each.id);
  *drafts = draft_->propose(ids);
  if (draft_->is_resting()) return nullptr;
  return drafts;
} catch (const std::exception& fault) {
  spdlog::error("the draft model failed and drafts no more: {}", fault.what());
  draft_.reset();
  return std::make_shared<const std::vector<draft>>();
}

model_runner_actor::behavior_type model_runner_behavior(
    model_runner_actor::stateful_pointer<model_runner_state> self, model_runner_parts parts) {
  const auto metrics = parts.metrics;
  self->state.start(std::move(parts));
  return measured(
      self, metrics,
      [self](const msg::warm_up& request, const warm_up_task_ptr& task) {
        return self->state.warm_up(request, task);
      },
      [self](const msg::run_step&, const step_batch_ptr& batch) { return self->state.run_step(batch); },
      [self](const msg::apply_masks&, const step_masks_ptr& masks) { return self->state.apply_masks(masks); },
      [self](const msg::observe_tokens&, const draft_work_ptr& work) { self->state.observe(*work); },
      [self](const msg::propose_drafts&, const draft_work_ptr& work) { return self->state.propose(*work); });
}

}  // namespace troupe
