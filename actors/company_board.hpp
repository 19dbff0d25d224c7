// Where the company stands, for those who must not wait for an actor's answer: health routes, the starting
// program. Written by the supervisor and the scheduler, read by any thread.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/chaos.hpp"
#include "actors/net/engine_port.hpp"
#include "runtime/request.hpp"
#include "runtime/supervision/opening_watch.hpp"
#include "runtime/supervision/replacement_record.hpp"

namespace troupe {

// One item of the warm-up, done.
struct warm_up_progress {
  std::int32_t done = 0;
  std::int32_t total = 0;
  std::string what;
  std::chrono::nanoseconds took{0};
};

class company_board {
 public:
  // `step_deadline`: for the work (work_of()) of up to 512 rows, and once more for every 512 more.
  explicit company_board(std::chrono::nanoseconds step_deadline) { set_step_deadline(step_deadline); }

  // Supervisor.
  // Of the steps to come.
  void set_step_deadline(std::chrono::nanoseconds deadline) {
    // So that neither many of them nor a time that long from now are more than a clock can tell.
    constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 30};
    step_deadline_.store(std::min(deadline, longest).count(), relaxed);
  }
  // The first of so many items has begun; one is over.
  void warm_up_begins(std::int32_t total);
  void warming_up(warm_up_progress progress);
  void ready();
  // An item of the warm-up is with the runner, a step of so much work; it is over. Its deadline is that of
  // any step, after that of one which may be before it there.
  void warm_up_step_started(steady_time now, std::int64_t work) {
    const std::int64_t step = step_due_.load(relaxed);
    const steady_time begin = step == none ? now : std::max(now, steady_time(std::chrono::nanoseconds(step)));
    warm_up_due_.store(due(begin, work), relaxed);
  }
  void warm_up_step_ended() { warm_up_due_.store(none, relaxed); }
  void draining();
  // The runner has ended; there is another one, and from now on nobody waits for it.
  void runner_ended(steady_time now);
  void runner_is_back(steady_time now);
  // The device of the next one, which opens, has got on at this time; and why it is not live meanwhile, since
  // it does not any more (nothing: it is). Whoever tells that ends it, too.
  void opening_gets_on(steady_time at, std::optional<std::string> late = std::nullopt);
  // From now on less is served than was asked for, and why.
  void degraded(std::string why);
  // The first actor to fail is the one that is remembered, and what has become of it.
  void failed(const std::string& actor, const std::string& why = "has ended");
  // Calls whoever waits to hear of that, in the order in which they asked. Nobody where none has failed.
  void tell_failure();

  // Scheduler: a step of so much work is with the runner; it has answered.
  void step_started(steady_time now, std::int64_t work) {
    const std::int64_t step = due(now, work);
    step_due_.store(step, relaxed);
    // It may have come to the runner before an item of the warm-up, unless that is over meanwhile.
    if (std::int64_t item = warm_up_due_.load(relaxed); item != none)
      warm_up_due_.compare_exchange_strong(item, std::max(item, step + step_deadline().count()), relaxed);
  }
  void step_ended() { step_due_.store(none, relaxed); }
  bool runs_step() const { return step_due_.load(relaxed) != none; }
  // The company is stopped: who loses its device from here on has not failed.
  void begin_stop() { is_stopping_.store(true, relaxed); }
  // Nobody is left.
  void stopped();
  bool is_stopping() const { return is_stopping_.load(relaxed); }
  // Scheduler: requests could run, but no step is with the runner; that is not so.
  void queue_waits(steady_time now) {
    if (queue_due_.load(relaxed) == none)
      queue_due_.store((now + step_deadline()).time_since_epoch().count(), relaxed);
  }
  void queue_moves() { queue_due_.store(none, relaxed); }
  // Supervisor, once a second: it is at work itself, and who does not answer it.
  void looked_after(steady_time now, std::optional<std::string> silent);
  // How long an actor, but for one with a device at work, may go without answering.
  std::chrono::nanoseconds patience_for_answers() const { return step_deadline(); }
  // The same of one that compiles: a second of work at most, which the lowest priority makes a minute of
  // where others keep every core busy.
  std::chrono::nanoseconds patience_for_compiling() const {
    return std::max<std::chrono::nanoseconds>(step_deadline(), std::chrono::minutes(2));
  }
  // Where the next scheduler goes on, should this one end.
  void step_sent(std::uint64_t step) { last_step_.store(step, relaxed); }
  std::uint64_t last_step() const { return last_step_.load(relaxed); }

  // Live: no actor has failed for good, the step in flight, if any, is younger than its deadline, so is one
  // of the warm-up, and requests that could run do not wait for longer than that, nor anybody who asks an
  // actor; nor is a device late that opens. While there is no runner, requests wait for it.
  net::engine_status status(steady_time now) const;
  // Whether a step with the runner is late by a step's deadline, whatever its own, or the queue by as much.
  bool hangs(steady_time now) const {
    const steady_time then = now - step_deadline();
    return is_late(step_due_, then) || is_late(warm_up_due_, then) || is_late(queue_due_, then);
  }
  // How long a device that opens may get nowhere.
  std::chrono::nanoseconds patience_for_opening() const {
    return chaos::cut(troupe::patience_for_opening(step_deadline()));
  }
  std::optional<std::string> failure() const;
  // Each is called once, by tell_failure() when an actor has failed; at once where one has.
  using failure_callback = std::function<void(const std::string& actor)>;
  void on_failure(failure_callback callback);

  // The progress that came after the first `seen` items; waits for news while there is none and nothing is
  // decided.
  struct news {
    std::vector<warm_up_progress> progress;
    bool ready = false;
    bool interrupted = false;
    std::optional<std::string> failure;
  };
  // A company that has stopped has failed.
  news wait_news(std::size_t seen);
  // wait_news() returns at once from now on.
  void interrupt();

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::int64_t none = -1;
  std::chrono::nanoseconds step_deadline() const {
    return std::chrono::nanoseconds(step_deadline_.load(relaxed));
  }
  // A long prompt in one step is honest work.
  std::chrono::nanoseconds deadline_of(std::int64_t work) const {
    constexpr std::int64_t usual = 512;  // rows
    return step_deadline() * (1 + std::max<std::int64_t>(work - 1, 0) / usual);
  }

  std::int64_t due(steady_time now, std::int64_t work) const {
    return (now + deadline_of(work)).time_since_epoch().count();
  }

  // Whoever spreads requests over services hears of what takes long or comes back, and of nothing else.
  net::engine_status status_when_ready(steady_time now) const;
  bool is_queue_late(steady_time now) const;

  static bool is_late(const std::atomic<std::int64_t>& due, steady_time now) {
    const std::int64_t at = due.load(relaxed);
    return at != none && now.time_since_epoch().count() > at;
  }

  std::atomic<std::int64_t> step_deadline_{0};  // ns
  std::atomic<std::int64_t> step_due_{none};
  std::atomic<std::int64_t> warm_up_due_{none};
  std::atomic<std::int64_t> queue_due_{none};
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> last_step_{0};
  std::atomic<std::int64_t> supervisor_due_{none};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<warm_up_progress> progress_;
  bool ready_ = false;
  std::string starting_ = "starting";  // before an item of the warm-up is over
  bool draining_ = false;
  bool stopped_ = false;
  bool interrupted_ = false;
  replacement_record runner_;
  steady_time opening_moved_{};
  std::optional<std::string> opening_late_;
  std::string degraded_;  // why; empty: it is not
  std::optional<std::string> failure_;
  std::string failure_reason_;
  std::optional<std::string> silent_;
  std::vector<failure_callback> on_failure_;
};

}  // namespace troupe
