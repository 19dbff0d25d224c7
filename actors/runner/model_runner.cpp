#include "actors/runner/model_runner.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "actors/messaging/measured.hpp"
#include "runtime/bucketing/bucket_text.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/check_batch.hpp"
#include "runtime/executor/pad_batch.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"

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

caf::result<msg::device_opened> model_runner_state::open_device(const msg::open_device& wanted) {
  result<runner_device> opened = std::exchange(parts_.open, {})(wanted.has_drafter);
  if (!opened) spdlog::error("the device cannot be opened: {}", opened.error().message);
  if (opened) device_ = std::move(opened->target);
  if (!opened || !fit_kv_cache(wanted) || (wanted.proof_rows > 0 && !passes_proof(wanted.proof_rows))) {
    const caf::error reason = caf::make_error(caf::sec::runtime_error, "no device");
    self_->quit(reason);
    return reason;
  }
  if (wanted.has_drafter) draft_ = std::move(opened->draft);
  for (const auto& [step, took] : parts_.step_costs)
    if (draft_ && step.is_usual()) draft_->target_step(step.rows, took);
  overlaps_ = device_->overlaps() && !draft_;  // what a step verifies follows from the tokens before
  block_size_ = device_->layout().block_size;
  buckets_ = step_buckets(parts_.buckets, block_size_);
  parts_.metrics->add_buckets(names_of(parts_.buckets));
  tell_figures();
  const kv_layout layout = device_->layout();
  return msg::device_opened{layout.num_blocks, layout.dtype, device_->kernel_path()};
}

// A draft model's cache stays as it is: it is enough for as many tokens.
bool model_runner_state::fit_kv_cache(const msg::open_device& wanted) try {
  if (wanted.most_blocks == 0 || device_->layout().num_blocks <= wanted.most_blocks) return true;
  const result<void> taken = device_->take_kv_cache({.num_blocks = wanted.most_blocks, .is_granted = true});
  if (taken && device_->layout().num_blocks >= wanted.least_blocks) return true;
  spdlog::error("there is no KV cache of {} blocks: {}", wanted.most_blocks,
                taken ? fmt::format("it has {}", device_->layout().num_blocks) : taken.error().message);
  return false;
} catch (const std::exception& fault) {
  spdlog::error("there is no KV cache of {} blocks: {}", wanted.most_blocks, fault.what());
  return false;
}

// Shapes that every request has: a device that fails in others alone is left to those who ask for them, and
// serves everybody else. Of the warm-up's items a verification of one row is a token at a place of choice.
bool model_runner_state::passes_proof(std::int32_t rows) try {
  const executor_limits limits{.max_rows = rows,
                               .max_sequences = 1,
                               .max_model_len = rows + 1,
                               .block_size = device_->layout().block_size};
  for (const warm_up_item& step :
       {warm_up_item{.phase = warm_up_phase::prompt, .shape = {1, rows, 0}},
        warm_up_item{.phase = warm_up_phase::verification, .shape = {1, 1, 0}, .context = rows}})
    run_warm_up(*device_, {step, scratch_batch(step, device_->layout(), limits, 1)});
  return true;
} catch (const std::exception& fault) {
  spdlog::error("the device does not compute steps of no request's: {}", fault.what());
  return false;
}

device_batch& model_runner_state::in_buckets(device_batch& rows) {
  if (buckets_.empty()) return rows;
  const step_placement placement = buckets_.place(rows);
  count(placement);
  if (!parts_.pad_to_buckets) return rows;
  std::int32_t padding = 0;
  if (uncollected_) last_padded_ = 1 - last_padded_;
  device_batch& padded = padded_[last_padded_];
  pad_batch(rows, placement, block_size_, padded, padding);
  parts_.metrics->add_bucket_padding(static_cast<std::uint64_t>(padding));
  return padded;
}

// Of each shape once. One whose warning was left out for the many before it is warned of the next time.
template <class Shape>
void model_runner_state::warn_beyond(const char* kind, const std::optional<Shape>& shape,
                                     warned_shapes<Shape>& warned) {
  if (!shape || !warned.lacks(*shape)) return;
  const std::string text =
      fmt::format("a {} of shape {} is beyond every bucket and runs as it is", kind, to_string(*shape));
  if (beyond_.warn(self_->clock().now(), text)) warned.add(*shape);
}

void model_runner_state::count(const step_placement& placement) {
  if (placement.prompt) parts_.metrics->count_bucket_execution(to_string(*placement.prompt));
  if (placement.decode) parts_.metrics->count_bucket_execution(to_string(*placement.decode));
  if (placement.unified) parts_.metrics->count_bucket_execution(to_string(*placement.unified));
  if (placement.fallbacks() == 0) return;
  parts_.metrics->add_bucket_fallbacks(static_cast<std::uint64_t>(placement.fallbacks()));
  if (!parts_.pad_to_buckets) return;  // every step runs as it is: nothing to warn of
  warn_beyond("prompt", placement.prompt_beyond, buckets_.warned_prompts());
  warn_beyond("decode", placement.decode_beyond, buckets_.warned_decodes());
  warn_beyond("unified step", placement.unified_beyond, buckets_.warned_unified());
}

caf::result<msg::step_done, step_result_ptr> model_runner_state::run_step(const step_batch_ptr& batch) {
  auto answer = self_->make_response_promise<msg::step_done, step_result_ptr>();
  later_.emplace_back([this, batch, answer, number = ++num_asked_] { begin(batch, number, answer); });
  go_on();
  return answer;
}

caf::result<step_result_ptr> model_runner_state::apply_masks(step_masks_ptr masks) {
  auto answer = self_->make_response_promise<step_result_ptr>();
  masks_.push_back({std::move(masks), answer});
  go_on();
  return answer;
}

void model_runner_state::abandon_masks() {
  num_abandoned_ = num_asked_;
  masks_.clear();
  go_on();
}

void model_runner_state::begin(const step_batch_ptr& batch, std::uint64_t number, step_promise answer) {
  const auto began = parts_.now();
  held_ = held_step{batch, number, nullptr, began, {}, std::move(answer)};
  const auto uncollected = uncollected_ ? std::optional(uncollected_->step.batch->step) : std::nullopt;
  device_batch& known = feed_.resolve(*batch, uncollected);
  if (draft_) {
    draft_->begin_verification(*batch, verified_);
    known.verified = verified_.of_samples;
  }
  held_->rows = &in_buckets(known);
  device_->forward(*held_->rows);
  if (awaits_masks() && !overlaps_) device_->synchronize();  // the time until they come is not the step's
  held_->took = parts_.now() - began;
}

bool model_runner_state::awaits_masks() const {
  return !held_->batch->masked_samples.empty() && held_->number > num_abandoned_;
}

// Masks of steps that were sampled without them come late.
bool model_runner_state::has_masks() {
  while (!masks_.empty() && masks_.front().masks->step < held_->batch->step) masks_.pop_front();
  if (!awaits_masks()) return true;
  return !masks_.empty() && masks_.front().masks->step == held_->batch->step;
}

// What most exceptions leave of the device is in doubt, and so is what it stores.
void model_runner_state::go_on() try {
  while (true) {
    if (held_ && has_masks()) {
      finish();
    } else if (!held_ && !later_.empty()) {
      const std::function<void()> next = std::move(later_.front());
      later_.pop_front();
      next();
    } else {
      return;
    }
  }
} catch (const std::exception& fault) {
  fail(fault);
}

// Tokens of the step before are part of histories, and what it was drawn from is in the sampler's buffers.
void model_runner_state::finish() {
  collect_all();
  if (overlaps_) feed_.complete_histories(*held_->batch, *held_->rows);
  const auto began = parts_.now();
  std::optional<known_masks> known;
  if (awaits_masks()) {
    known = std::move(masks_.front());
    masks_.pop_front();
  }
  const step_masks* masks = known ? known->masks.get() : nullptr;
  if (overlaps_ && device_->begin_sample(*held_->rows, masks)) {
    uncollected_ = uncollected_step{*std::exchange(held_, std::nullopt), std::move(known)};
    self_->send(model_runner_actor(self_), msg::collect_tokens{});
    return;
  }
  const auto sampled = std::make_shared<step_result>();
  device_->sample(*held_->rows, masks, *sampled);
  held_step ended = *std::exchange(held_, std::nullopt);
  answer(ended, known, sampled, ended.took + (parts_.now() - began));
}

void model_runner_state::answer(held_step& ended, std::optional<known_masks>& known,
                                const std::shared_ptr<step_result>& sampled, std::chrono::nanoseconds took) {
  answering_ = ended.batch->step;
  check_result(*ended.rows, *sampled);
  if (known) note_masks(*known->masks, *sampled);
  feed_.remember(*sampled);
  const step_result_ptr result = sampled;
  if (known) known->answer.deliver(result);
  ended.answer.deliver(msg::step_done{ended.batch->step, took.count()}, result);
  answering_.reset();
}

// A step takes no longer than since the one before: it was asked for while that one ran.
bool model_runner_state::collect() {
  if (!uncollected_) return true;
  if (!device_->collect(*uncollected_->sampled)) return false;
  uncollected_step ended = *std::exchange(uncollected_, std::nullopt);
  const steady_time now = parts_.now();
  const std::chrono::nanoseconds took = now - std::max(ended.step.began, collected_at_);
  collected_at_ = now;
  answer(ended.step, ended.masks, ended.sampled, took);
  return true;
}

void model_runner_state::collect_all() {
  while (!collect()) {
  }
}

void model_runner_state::collect_tokens() try {
  if (!collect()) self_->send(model_runner_actor(self_), msg::collect_tokens{});
} catch (const std::exception& fault) {
  fail(fault);
}

// A held step may have failed, which the next call of the device throws: here nobody would handle it.
void model_runner_state::tell_figures() try {
  if (held_) {
    later_.emplace_back([this] { tell_figures(); });
    return;
  }
  if (!device_) return;
  const auto told = device_->figures();
  if (!told) return;
  const device_figures drafts = draft_ ? draft_->figures().value_or(device_figures{}) : device_figures{};
  parts_.metrics->set_gpu({told->bus_id,
                           told->memory_total,
                           told->memory_free,
                           told->graphs + drafts.graphs,
                           {told->eager_steps, told->eager_decodes},
                           {drafts.eager_steps, drafts.eager_decodes}});
} catch (const std::exception& fault) {
  spdlog::debug("the device tells no figures: {}", fault.what());
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
      [self](const msg::open_device& wanted) { return self->state.open_device(wanted); },
      [self](const msg::run_step&, const step_batch_ptr& batch) { return self->state.run_step(batch); },
      [self](const msg::abandon_masks&) { self->state.abandon_masks(); },
      [self](const msg::collect_tokens&) { self->state.collect_tokens(); },
      [self](const msg::apply_masks&, const step_masks_ptr& masks) { return self->state.apply_masks(masks); },
      [self](const msg::observe_tokens&, const draft_work_ptr& work) { self->state.observe(*work); },
      [self](const msg::propose_drafts&, const draft_work_ptr& work) { return self->state.propose(*work); },
      [self](const msg::take_stock&) { self->state.tell_figures(); });
}

}  // namespace troupe
