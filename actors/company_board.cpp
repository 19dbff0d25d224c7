#include "actors/company_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/net/call_back.hpp"

namespace troupe {

void company_board::warm_up_begins(std::int32_t total) {
  const std::lock_guard lock(mutex_);
  starting_ = fmt::format("warming up [0/{}]", total);
}

void company_board::warming_up(warm_up_progress progress) {
  const std::lock_guard lock(mutex_);
  progress_.push_back(std::move(progress));
  changed_.notify_all();
}

void company_board::ready() {
  const std::lock_guard lock(mutex_);
  ready_ = true;
  runner_.clear();  // the ends in the warm-up are over
  changed_.notify_all();
}

void company_board::draining() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

void company_board::runner_ended(steady_time now) {
  const std::lock_guard lock(mutex_);
  runner_.ended(now);
  opening_late_.reset();
  warm_up_step_ended();
}

void company_board::runner_is_back(steady_time now) {
  const std::lock_guard lock(mutex_);
  runner_.is_back(now);
  opening_late_.reset();
  queue_moves();
}

void company_board::degraded(std::string why) {
  const std::lock_guard lock(mutex_);
  if (degraded_.empty()) runner_.clear();  // what has ended again and again is no more
  degraded_ = std::move(why);
}

void company_board::opening_gets_on(steady_time at, std::optional<std::string> late) {
  const std::lock_guard lock(mutex_);
  opening_moved_ = at;
  opening_late_ = std::move(late);
}

// A step's deadline after the time for which a device that opens may get nowhere, whoever should have ended
// that has not.
bool company_board::is_queue_late(steady_time now) const {
  const std::optional<steady_time> gone = runner_.gone_since();
  const bool may_open =
      gone && now - std::max(*gone, opening_moved_) <= patience_for_opening() + step_deadline();
  return !may_open && is_late(queue_due_, now);
}

void company_board::failed(const std::string& actor, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = actor;
  failure_reason_ = why;
  changed_.notify_all();
}

void company_board::tell_failure() {
  std::vector<failure_callback> callbacks;
  std::string actor;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) return;
    actor = *failure_;
    callbacks = std::exchange(on_failure_, {});
  }
  for (const failure_callback& callback : callbacks) call_back(callback, actor);
}

void company_board::stopped() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void company_board::looked_after(steady_time now, std::optional<std::string> silent) {
  // What it does once a second may be late on a busy machine.
  constexpr std::chrono::seconds leeway{10};
  supervisor_due_.store((now + patience_for_answers() + leeway).time_since_epoch().count(), relaxed);
  const std::lock_guard lock(mutex_);
  silent_ = std::move(silent);
}

net::engine_status company_board::status(steady_time now) const {
  const std::lock_guard lock(mutex_);
  const bool takes_requests = ready_ && !draining_;
  const auto hangs = [&](const std::string& what) {
    return net::engine_status{.live = false, .ready = takes_requests, .reason = what};
  };
  const auto is_not_ready = [](const std::string& why) {
    return net::engine_status{.live = true, .ready = false, .reason = why};
  };
  if (failure_) return {.live = false, .ready = false, .reason = *failure_ + " " + failure_reason_};
  if (stopped_) return {.live = false, .ready = false, .reason = "the company has stopped"};
  if (is_late(step_due_, now)) return hangs("a step does not end");
  if (is_late(warm_up_due_, now)) return hangs("a step of the warm-up does not end");
  if (is_queue_late(now)) return hangs("the queue does not move");
  if (silent_) return hangs(*silent_ + " does not answer");
  if (is_late(supervisor_due_, now)) return hangs("the supervisor does not answer");
  if (opening_late_)
    return {
        .live = false, .reason = *opening_late_, .waits_for_runner = takes_requests, .is_dealt_with = true};
  if (draining_) return is_not_ready(net::draining_reason);
  if (ready_) return status_when_ready(now);
  if (progress_.empty()) return is_not_ready(starting_);
  return is_not_ready(fmt::format("warming up [{}/{}] {}", progress_.back().done, progress_.back().total,
                                  progress_.back().what));
}

net::engine_status company_board::status_when_ready(steady_time now) const {
  const auto waits = [](const char* reason) {
    return net::engine_status{.live = true, .ready = false, .reason = reason, .waits_for_runner = true};
  };
  switch (runner_.trouble_at(now)) {
    case replacement_record::trouble::takes_long:
      return waits("the model runner is being replaced");
    case replacement_record::trouble::recurs:
      return waits("the model runner ends again and again");
    case replacement_record::trouble::none:
      break;
  }
  return {.live = true, .ready = true, .degraded = degraded_};
}

std::optional<std::string> company_board::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void company_board::on_failure(failure_callback callback) {
  if (!callback) return;
  std::string actor;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      on_failure_.push_back(std::move(callback));
      return;
    }
    actor = *failure_;
  }
  call_back(callback, actor);
}

company_board::news company_board::wait_news(std::size_t seen) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return progress_.size() > seen || ready_ || interrupted_ || failure_ || stopped_; });
  news out;
  for (std::size_t i = seen; i < progress_.size(); ++i) out.progress.push_back(progress_[i]);
  out.ready = ready_ && !stopped_;
  out.interrupted = interrupted_;
  out.failure = failure_;
  if (stopped_ && !failure_) out.failure = "the company";
  return out;
}

void company_board::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

}  // namespace troupe
