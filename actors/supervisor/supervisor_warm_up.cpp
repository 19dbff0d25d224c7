// The supervisor's part in the warm-up: what is sent to the runner and when, what is logged, who is told.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/scheduler/step_work.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "runtime/bucketing/bucket_text.hpp"
#include "runtime/executor/machine/available_memory.hpp"
#include "runtime/executor/warm_up/sampler_warm_up.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"

namespace troupe {
namespace {

// How long a lazy warm-up waits before it looks again whether nothing runs.
constexpr std::chrono::milliseconds idle_check{100};
// For how long nothing must have run before a lazy warm-up goes on: a request that comes waits for the step
// that runs, and who has just been served, or has waited for the service to be ready, asks again soon.
constexpr std::chrono::seconds quiet_time{2};
// After how long without an idle moment what drafts cost is measured all the same, step by step: until then
// nothing is drafted.
constexpr std::chrono::milliseconds busy_pause{250};
// How long it waits for the answer, which may be lost.
constexpr std::chrono::seconds idle_answer{10};

// Whether nothing is drafted until the warm-up has told what drafts cost.
bool drafts_wait_for_costs(const supervisor_parts& parts) {
  return parts.drafts && parts.drafts->config.adaptive;
}

}  // namespace

void supervisor_state::start_warm_up() {
  step_limits_ = {.max_rows = std::max(limits_at_start_.max_num_batched_tokens, parts_.steps.padded.rows),
                  .max_sequences = std::max(limits_at_start_.max_num_seqs, parts_.steps.padded.sequences),
                  .max_model_len = parts_.limits.max_model_len,
                  .block_size = layout_.block_size};
  const warm_up_mode mode = parts_.warm_up;
  const auto extent =
      mode == warm_up_mode::full ? warm_up_extent::every_bucket : warm_up_extent::every_row_count;
  course_ = warm_up_course(
      warm_up_items(
          parts_.steps.buckets, step_limits_, layout_.block_size, extent,
          {.tune = parts_.steps.tune, .tuned = parts_.steps.tuned, .verification = parts_.drafts.has_value()},
          parts_.steps.graphs),
      mode);
  if (mode == warm_up_mode::skip && drafts_wait_for_costs(parts_))
    spdlog::warn(
        "nothing will be drafted: what verifying drafts costs is measured by the warm-up, which is left out. "
        "Leave out --skip-warmup and --enforce-eager, or say \"adaptive\": false in --speculative-config");
  const bool are_run = parts_.steps.pad_to_buckets || mode == warm_up_mode::full;
  const auto level = are_run ? spdlog::level::info : spdlog::level::debug;
  if (mode != warm_up_mode::skip)
    for (const std::string& line : describe(parts_.steps.buckets)) spdlog::log(level, "{}", line);
  go_on_warming_up();
}

void supervisor_state::go_on_warming_up() {
  if (failed_ || is_warming_up_ || !roster_.model_runner) return;
  parts_.metrics->set_warmup_progress(course_.share());
  if (course_.ready() && !std::exchange(ready_, true)) parts_.board->ready();
  if (course_.finished()) return warn_of_unknown_costs();
  if (!ready_) return warm_up_item_now();
  if (!drain_.has_begun()) warm_up_when_idle();
}

// Of the buckets of the runners to come; this one has seen to its own.
void supervisor_state::leave_out(const warm_up_item& item) {
  if (item.is_for_graph) return;  // that says nothing of a bucket of the same shape
  if (item.phase == warm_up_phase::prompt) std::erase(parts_.steps.buckets.prompt, item.shape);
  if (item.phase == warm_up_phase::decode) std::erase(parts_.steps.buckets.decode, item.shape);
  if (item.phase == warm_up_phase::unified) std::erase(parts_.steps.buckets.unified, item.unified);
}

// By the steps that are interpolated between: of one row, and of the most that are timed.
void supervisor_state::warn_of_unknown_costs() {
  if (parts_.warm_up == warm_up_mode::skip || !drafts_wait_for_costs(parts_)) return;
  if (std::exchange(are_costs_told_, true)) return;
  std::int32_t least = 0, most = 0;
  for (const auto& [step, took] : step_costs_) {
    if (!step.is_usual()) continue;
    least = least == 0 ? step.rows : std::min(least, step.rows);
    most = std::max(most, step.rows);
  }
  constexpr const char* remedy =
      "a restart measures it again; \"adaptive\": false in --speculative-config drafts all the same";
  if (least != 1) {
    spdlog::warn(
        "nothing will be drafted: the warm-up has left out the step of 1 row, and what drafts cost is not "
        "known: {}",
        remedy);
  } else if (2 * most <= std::min(step_limits_.max_rows, most_verified_rows)) {
    spdlog::warn(
        "steps of more than {} rows will verify no drafts: the warm-up has left them out, and what they cost "
        "is not "
        "known: {}",
        most, remedy);
  }
}

// What has taken the runner along again and again is not asked for any more, nor known to the next one.
void supervisor_state::leave_out_what_kills() {
  const warm_up_item* item = course_.next();
  if (item == nullptr || !course_.ended_runner(runner_end_.was_killed)) return;
  spdlog::warn("{} ends the model runner and is left out", describe(*item));
  leave_out(*item);
  course_.skip();
}

void supervisor_state::warm_up_when_idle() {
  if (std::exchange(awaits_idle_, true)) return;
  self_->request(roster_.scheduler, idle_answer, msg::count{})
      .then(
          [this](const msg::request_counts& counts) {
            awaits_idle_ = false;
            note_last_step();
            const bool is_idle = counts.running == 0 && counts.waiting == 0;
            if (is_idle) last_chance_ = self_->clock().now();
            if (is_idle ? has_been_quiet() || measures_costs_next() : wants_costs_now())
              return warm_up_item_now();
            self_->delayed_send(supervisor_actor(self_), idle_check, msg::continue_warm_up{});
          },
          [this](const caf::error&) {
            awaits_idle_ = false;
            self_->delayed_send(supervisor_actor(self_), idle_check, msg::continue_warm_up{});
          });
}

void supervisor_state::note_last_step() {
  const std::uint64_t step = parts_.board->last_step();
  if (!last_step_ || last_step_->step != step) last_step_ = seen_step{step, self_->clock().now()};
}

bool supervisor_state::has_been_quiet() const {
  return self_->clock().now() - last_step_->since >= quiet_time;
}

bool supervisor_state::measures_costs_next() const {
  const warm_up_item* next = course_.next();  // none, where the last one has been left out meanwhile
  return drafts_wait_for_costs(parts_) && next != nullptr && next->phase == warm_up_phase::verification &&
         !step_costs_.contains(timed_step_of(*next));
}

// The runner takes such a step between two of the requests'.
bool supervisor_state::wants_costs_now() {
  if (!drafts_wait_for_costs(parts_)) return false;
  const steady_time now = self_->clock().now();
  if (!last_chance_) last_chance_ = now;
  return now - *last_chance_ >= busy_pause && course_.bring_forward(warm_up_phase::verification);
}

void supervisor_state::warm_up_item_now() {
  if (is_warming_up_ || course_.finished() || !roster_.model_runner) return;
  last_chance_ = self_->clock().now();
  is_warming_up_ = true;
  const warm_up_item item = *course_.next();
  if (!ready_ && course_.done() == 0) parts_.board->warm_up_begins(course_.needed());
  if (item.phase == warm_up_phase::sampler && !std::exchange(is_sampler_told_, true)) announce_sampler();
  if (item.phase == warm_up_phase::tuning && !std::exchange(is_tuning_told_, true))
    spdlog::info(
        "tuning: {} sizes of steps are timed, the smallest first{}", item.count,
        ready_ ? ", while nothing runs; a request that comes waits for the step that is being timed" : "");
  auto task = std::make_shared<warm_up_task>(
      warm_up_task{item, scratch_batch(item, layout_, step_limits_, parts_.vocabulary->vocab_size())});
  task->batch.needs_graph = smaller_cache().has_value();
  parts_.board->warm_up_step_started(self_->clock().now(), work_of(task->batch));
  out_.ask(roster_.model_runner, msg::warm_up{course_.done()}, warm_up_task_ptr(std::move(task)))
      .then([this, item](const msg::warmed_up& done) { on_warmed_up(item, done); }, [](const caf::error&) {});
}

void supervisor_state::on_warmed_up(const warm_up_item& item, const msg::warmed_up& done) {
  is_warming_up_ = false;
  parts_.board->warm_up_step_ended();
  if (!done.is_over) return go_on_warming_up();
  if (done.succeeded)
    course_.advance();
  else
    course_.skip();
  const std::string line = describe(item, available_memory().value_or(0));
  if (!done.succeeded) {
    spdlog::warn("{} failed and is left out", line);
    leave_out(item);
  } else if (item.phase == warm_up_phase::sampler) {
    if (item.number == item.count) spdlog::info("Sampler warmup completed successfully");
  } else {
    spdlog::info("{}", line);
  }
  if (done.succeeded && item.phase == warm_up_phase::verification) {
    const timed_step step = timed_step_of(item);
    std::chrono::nanoseconds took(done.nanoseconds);
    // Timed twice: what disturbs the machine only makes a step longer.
    if (const auto known = step_costs_.find(step); known != step_costs_.end())
      took = std::min(took, known->second);
    spdlog::info("a step of {} rows sampled {} behind {} tokens takes {:.2f} ms", step.rows,
                 step.is_random ? "at random" : "greedily", step.context,
                 std::chrono::duration<double, std::milli>(took).count());
    step_costs_[step] = took;
    tell_step_cost(roster_.scheduler, step, took);
  }
  if (!ready_)
    parts_.board->warming_up(
        {course_.done(), course_.needed(), describe(item), std::chrono::nanoseconds(done.nanoseconds)});
  go_on_warming_up();
}

void supervisor_state::tell_step_cost(const scheduler_actor& scheduler, const timed_step& step,
                                      std::chrono::nanoseconds took) {
  out_.send(scheduler, msg::step_cost{step.rows, step.context, step.is_random, took.count()});
}

void supervisor_state::announce_sampler() const {
  for (const std::string& line :
       describe_sampler_warm_up(sampler_batch_sizes(parts_.steps.buckets, step_limits_.max_rows)))
    spdlog::info("{}", line);
}

}  // namespace troupe
