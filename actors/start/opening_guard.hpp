// Looks at the start of an engine from a thread of its own, until it is gone itself: who gets nowhere is
// told, and in the end killed, where he has a process of his own.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/isolation/executor_place.hpp"
#include "runtime/supervision/opening_watch.hpp"

namespace troupe {

class opening_guard {
 public:
  struct rules {
    std::chrono::nanoseconds patience;
    // What does not get on, each time; nothing: it does again. On the guard's thread, the last by end_well().
    // Neither throws.
    std::function<void(const std::optional<std::string>& why)> on_stall;
    // This process hangs, which nobody kills, or one that does not end though it was killed.
    std::function<void(const std::string& why)> on_hang;
    // What threads of this process that do not start anything have computed, in seconds. Does not throw.
    std::function<double()> cpu_seconds_beside;
  };

  // Watches the process that `place` has started last; this one where there is none.
  opening_guard(std::shared_ptr<const executor_place> place, rules told);
  ~opening_guard();
  opening_guard(const opening_guard&) = delete;
  opening_guard& operator=(const opening_guard&) = delete;

  // The start has come to its end: nobody is watched any more, and what was late is not.
  void end_well();

  // Whether it has killed this process, since it hung. Any thread.
  bool has_killed(const process_handle& process) const;
  std::chrono::nanoseconds patience() const { return told_.patience; }

 private:
  void watch();
  void look();
  std::optional<process_work> work() const;
  void tell(opening_watch::verdict found, steady_time now);
  void end_who_hangs(const std::string& why, steady_time now);
  void end_watch();
  std::string who() const;

  const std::shared_ptr<const executor_place> place_;
  const rules told_;
  // Of the guard's thread: whom it watches (null: this process), how, and what was told of it.
  std::shared_ptr<process_handle> watched_;
  opening_watch progress_;
  opening_watch::verdict said_ = opening_watch::verdict::gets_on;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<process_handle> killed_;  // the last one
  std::optional<steady_time> killed_at_;    // until it has ended
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace troupe
