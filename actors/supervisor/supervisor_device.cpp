// The supervisor's part in the life of the device: opens it for a runner, watches it, has another one opened
// when it is lost, and at last another kind of device.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/drafter/drafter.hpp"
#include "actors/kv_cache/kv_cache.hpp"
#include "actors/runner/model_runner.hpp"
#include "actors/supervisor/supervisor.hpp"

namespace troupe {
namespace {

// How often it is asked whether the device hangs.
constexpr std::chrono::milliseconds device_check{100};
// In a row. A device that is there again within a moment, as after a process that held it, opens before.
constexpr int most_failed_openings = 5;
// A runner after one that crashed in a step computes as many rows of nobody's, which tells whether it was the
// device; no more than take next to no time.
constexpr std::int32_t most_rows_of_proof = 32;
// From outside and in a row, before the runner had ended a step or settled. More are not for nothing, and
// count like any other end.
constexpr int most_kills = 64;
// Where there is no thread for a runner: somebody else has to end first.
constexpr std::chrono::milliseconds least_pause{100};

}  // namespace

// Nobody hears of a runner before its device is open.
void supervisor_state::add_model_runner() {
  const auto spawn = [this](const model_runner_parts& parts) {
    return parts_.detach ? self_->spawn<caf::detached>(model_runner_behavior, parts)
                         : self_->spawn(model_runner_behavior, parts);
  };
  const auto start = [this, spawn] {
    device_opener open = parts_.open_device;
    if (runner_device there = std::exchange(parts_.device, {}); there.target)
      open = [there](bool) -> result<runner_device> { return there; };
    left_behind_ = std::make_shared<runner_device>();
    const model_runner_actor runner =
        spawn({std::move(open), step_costs_, parts_.steps.buckets, parts_.steps.pad_to_buckets,
               parts_.metrics, parts_.steps.tuning_file, parts_.steps.tuned_for, parts_.device_clock,
               left_behind_, [board = parts_.board] { return board->is_stopping(); }});
    watch(runner, model_runner_state::name);
    open_device(runner);
  };
  roles_[model_runner_state::name] = {.kind = model_runner_state::name,
                                      .start = start,
                                      .vacate = [this] { vacate_model_runner(); },
                                      .holds_requests = false};
}

void supervisor_state::put_off_model_runner(const error& why) {
  spdlog::error("actor {} cannot be started: {}", model_runner_state::name, why.message);
  pause_before_runner(std::max<std::chrono::nanoseconds>(backoff_.ended(self_->clock().now()), least_pause));
}

// One that had to be killed before it was open would take as long again: what else there is is tried first.
void supervisor_state::vacate_model_runner() {
  runner_end_ = {.was_warming_up = std::exchange(is_warming_up_, false),
                 .was_killed = parts_.process && parts_.process->was_killed()};
  const bool has_hung = device_.opening && device_.killed_at;
  if (has_hung) ++hung_openings_;
  if (device_.opening && !runner_end_.was_killed) failed_openings_ += has_hung ? most_failed_openings : 1;
  roster_.model_runner = nullptr;
  device_ = {};
  parts_.metrics->set_runner_process({});
}

void supervisor_state::open_device(const model_runner_actor& runner) {
  device_ = {.opening = opening_watch(parts_.board->patience_for_opening(), self_->clock().now()),
             .opening_process = parts_.process ? parts_.process->id() : 0};
  const std::int32_t proof =
      std::min({runner_end_.rows, most_rows_of_proof, parts_.limits.max_model_len - 1});
  out_.ask(runner, msg::open_device{proof, !left_out_.contains(drafter_state::name), most_blocks_.value_or(0),
                                    least_blocks()})
      .then([this, runner](const msg::device_opened& opened) { on_device_opened(runner, opened); },
            [](const caf::error&) {});  // it has ended
}

// The CPU that takes another device's place computes and stores in another type.
void supervisor_state::note_device(const msg::device_opened& opened) {
  layout_.dtype = opened.cache_dtype;
  parts_.metrics->set_cache_config({layout_.block_size, opened.num_blocks, layout_.dtype});
  parts_.metrics->set_kernel_path(opened.kernel_path);
}

void supervisor_state::on_device_opened(const model_runner_actor& runner, const msg::device_opened& opened) {
  roster_.model_runner = runner;
  device_.opening.reset();
  failed_openings_ = hung_openings_ = 0;
  const bool is_another = runner_end_.lacked_memory == shortage::none;
  if (is_another) {
    backoff_.is_back(self_->clock().now());
    parts_.board->runner_is_back(self_->clock().now());
  }
  if (parts_.process)
    parts_.metrics->set_runner_process({parts_.process->id(), parts_.process->ended_cpu_seconds()});
  if (is_on_last_resort_) {
    parts_.board->degraded("the device is lost: the model runs on the CPU");
    parts_.metrics->set_degraded();
  }
  note_device(opened);
  note_blocks_of_device(opened.num_blocks);
  const bool has_another_cache = opened.num_blocks != layout_.num_blocks;
  if (has_another_cache) {
    replace_kv_cache(opened.num_blocks);
  } else {
    introduce();
  }
  if (std::exchange(has_begun_, true)) {
    spdlog::info("the model runner is back");
    if (!parts_.process && is_another) give_back_memory();
    const bool has_no_graphs = is_another || has_another_cache;
    if (!is_on_last_resort_ && has_no_graphs && !parts_.steps.graphs.empty())
      course_.repeat(warm_up_phase::decode);
    go_on_warming_up();
  } else {
    start_warm_up();
  }
}

// What the last runner had, where it was no process of its own: it lies between what others hold.
void supervisor_state::give_back_memory() {
  if (!memory_) memory_.emplace();
  memory_->ask();
}

// Nothing is stored any more; the runner is introduced together with the new one.
void supervisor_state::replace_kv_cache(std::int32_t num_blocks) {
  spdlog::warn("the KV cache has {} blocks in place of {}", num_blocks, layout_.num_blocks);
  layout_.num_blocks = num_blocks;
  parts_.limits.num_blocks = num_blocks;
  roster_.num_blocks = num_blocks;
  stop(kv_cache_state::name);
  to_start_.insert(kv_cache_state::name);
  start_stopped();
}

// A step that hangs ends with its process alone, and a runner without work does not notice that its process
// has ended. What becomes of the runner then is as for any other end.
void supervisor_state::look_after_device() {
  end_hung_device(self_->clock().now());
  const bool is_gone = roster_.model_runner && parts_.process->has_ended();
  if (is_gone && !std::exchange(device_.is_mourned, true))
    self_->send_exit(roster_.model_runner,
                     caf::make_error(caf::sec::runtime_error, parts_.process->describe_end()));
  self_->delayed_send(supervisor_actor(self_), device_check, msg::look_after_device{});
}

// What does not end though it was killed keeps the memory and the device that another one would need.
void supervisor_state::end_hung_device(steady_time now) {
  if (device_.opening) note_process_that_opens(now);
  const bool is_gone = parts_.process->has_ended() && !device_.opening;
  if (is_gone || failed_) return;
  if (device_.killed_at) {
    if (now - *device_.killed_at <= parts_.board->patience_for_opening() / 2) return;
    return fail(model_runner_state::name, "has a process that was killed and does not end");
  }
  const auto fault = fault_of_device(now);
  if (!fault) return;
  spdlog::error("{}: its process is killed (threads: {})", *fault, parts_.process->describe_threads());
  parts_.process->kill();
  device_.killed_at = now;
}

// Nobody runs a step, and the queue does not move, while a device is opened.
std::optional<std::string> supervisor_state::fault_of_device(steady_time now) {
  if (roster_.model_runner)
    return parts_.board->hangs(now) ? std::optional(parts_.board->status(now).reason) : std::nullopt;
  return device_.opening ? watch_opening(now) : std::nullopt;
}

// Each has its own time, whatever became of the one before.
void supervisor_state::note_process_that_opens(steady_time now) {
  const std::int32_t id = parts_.process->id();
  if (std::exchange(device_.opening_process, id) == id) return;
  device_.opening = opening_watch(parts_.board->patience_for_opening(), now);
  device_.killed_at.reset();
  device_.late.reset();
}

std::optional<std::string> supervisor_state::watch_opening(steady_time now) {
  const opening_watch::verdict found = device_.opening->look(now, parts_.process->work());
  std::optional<std::string> idle;
  if (found == opening_watch::verdict::gets_on) {
    device_.late.reset();
  } else {
    const std::int32_t id = parts_.process->id();
    idle = device_.opening->describe_idle(
        parts_.process->has_ended() ? "the start of a runner process" : name_of_opener(id), now);
    if (!device_.late) device_.late = idle;
  }
  parts_.board->opening_gets_on(device_.opening->moved_at(), device_.late);
  return found == opening_watch::verdict::hangs ? idle : std::nullopt;
}

void supervisor_state::on_runner_down(const caf::error& reason) {
  runner_end_.lacked_memory = is_process_gone() ? shortage::none : shortage_of(reason);
  if (runner_end_.lacked_memory != shortage::none)
    parts_.board->warm_up_step_ended();
  else if (!lose_device())
    return;
  runner_end_.was_drafting = !runner_end_.was_killed && is_draft_model_fault(reason);
  ask_for_blame();
  if (runner_end_.was_drafting) restart_drafter();
}

bool supervisor_state::lose_device() {
  parts_.board->runner_ended(self_->clock().now());
  if (!parts_.open_device) fail(model_runner_state::name);
  return parts_.open_device != nullptr;
}

void supervisor_state::restart_drafter() {
  if (!roster_.drafter) return;
  stop(drafter_state::name);
  restart(drafter_state::name, false);
}

void supervisor_state::ask_for_blame() {
  awaits_blame_ = true;
  const shortage lacked = runner_end_.lacked_memory;
  out_.ask(roster_.scheduler, msg::runner_lost{runner_end_.was_killed,
                                               runner_end_.was_drafting || lacked == shortage::of_warm_up,
                                               lacked == shortage::of_requests})
      .then([this](const msg::runner_missed& missed) { replace_runner(missed); },
            [this](const caf::error&) { replace_runner({}); });
}

// Where a step is to blame the next runner finds out which at once. Where none is, or he was killed before he
// had done anything, the next one may end the same way.
void supervisor_state::replace_runner(msg::runner_missed missed) {
  if (!std::exchange(awaits_blame_, false)) return;
  if (has_left_device(missed)) return pass_device_on();
  parts_.metrics->set_gpu({});  // not before: a device that is passed on goes on counting
  const shortage lacked = std::exchange(runner_end_.lacked_memory, shortage::none);
  if (lacked != shortage::none) {
    left_behind_.reset();
    if (!lose_device()) return;
  }
  if (lacked == shortage::of_warm_up) missed.is_excused = false;  // it was the warm-up's fault, not nobody's
  const std::chrono::nanoseconds pause = backoff_.ended(self_->clock().now());
  kills_ = runner_end_.was_killed && !missed.has_served && pause.count() > 0 ? kills_ + 1 : 0;
  runner_end_.rows = missed.rows;
  runner_end_.is_excused = missed.is_excused || (runner_end_.was_killed && kills_ <= most_kills);
  if (runner_end_.was_warming_up && !missed.is_excused) leave_out_what_kills();
  const bool is_at_once = runner_end_.was_killed ? missed.has_served : missed.is_excused;
  if (is_at_once || pause.count() == 0) return start_next_runner();
  pause_before_runner(pause);
}

void supervisor_state::pause_before_runner(std::chrono::nanoseconds pause) {
  spdlog::warn("actor model_runner is started again in {:.2f} s",
               std::chrono::duration<double>(pause).count());
  is_pausing_ = true;
  self_->delayed_send(supervisor_actor(self_), pause, msg::start_next_runner{});
}

void supervisor_state::start_next_runner() {
  is_pausing_ = false;
  if (failed_) return;
  if (const auto room = parts_.has_thread ? parts_.has_thread() : result<void>{}; !room)
    return put_off_model_runner(room.error());
  const bool is_gone_for_good = failed_openings_ >= most_failed_openings && turn_to_last_resort();
  if (hung_openings_ >= most_hung_openings)
    return fail(model_runner_state::name,
                fmt::format("has hung {} times in a row as it opened its device", hung_openings_));
  restart(model_runner_state::name, runner_end_.is_excused || is_gone_for_good);
}

bool supervisor_state::turn_to_last_resort() {
  if (!parts_.open_last_resort) return false;
  spdlog::critical("the device does not come back: the model runs on the CPU from now on");
  parts_.open_device = std::exchange(parts_.open_last_resort, nullptr);
  failed_openings_ = hung_openings_ = 0;
  most_blocks_.reset();
  is_on_last_resort_ = true;
  course_.skip_graphs();
  step_costs_.clear();
  out_.send(roster_.scheduler, msg::forget_step_costs{});
  course_.repeat(warm_up_phase::verification);
  return true;
}

}  // namespace troupe
