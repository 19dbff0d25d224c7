// A fixed team of threads that run one task together in phases. The caller is member 0.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/executor/threads/sleepers.hpp"

namespace troupe {

class thread_team {
 public:
  // Waiting members spin for a moment, then sleep; a team larger than the usable cores sleeps at once. Where
  // it has as many members as there are cores, each has its own while a task runs: beside one thread of the
  // lowest priority the system would else let two members share a core, since no other is idle.
  explicit thread_team(std::int32_t members);
  ~thread_team();
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;

  std::int32_t size() const { return size_; }

  // Calls task(member) on every member and returns when all are done. The first exception is thrown here; the
  // other members leave at their next barrier. One caller at a time.
  template <class Task>
  void run(Task&& task) {
    using type = std::remove_reference_t<Task>;
    run_task([](void* self, std::int32_t member) { (*static_cast<type*>(self))(member); }, &task);
  }

  // Inside a task: waits for all members, then starts the next phase's items at 0.
  void barrier();

  // Inside a task: the first of `count` items that no member has claimed in this phase.
  std::int64_t claim(std::int64_t count) { return cursor_.fetch_add(count, std::memory_order_relaxed); }

 private:
  using entry = void (*)(void*, std::int32_t);
  void run_task(entry call, void* task);
  void work(std::int32_t member);
  void execute(std::int32_t member);

  std::int32_t size_;
  std::vector<std::int32_t> cores_;  // [member] its own; empty: the system chooses
  entry call_ = nullptr;
  void* task_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> job_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  alignas(64) std::atomic<std::int32_t> arrived_{0};
  alignas(64) std::atomic<std::int64_t> cursor_{0};
  alignas(64) std::atomic<std::uint32_t> busy_{0};
  sleepers sleepers_;  // on any of these
  std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
