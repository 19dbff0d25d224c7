#include "runtime/executor/threads/thread_team.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/executor/machine/core_affinity.hpp"
#include "runtime/executor/machine/usable_cores.hpp"

namespace troupe {
namespace {

// Some 30 us of pauses: longer than the gap between two phases, shorter than what sleeping would cost.
constexpr std::int32_t spins_before_sleep = 1000;

// Unwinds the members of a task that another member has failed.
struct task_interrupted {};

std::vector<std::int32_t> cores_for(std::int32_t members) {
  if (members == 1 || members > usable_cores()) return {};
  std::vector<std::int32_t> cores = allowed_cores();
  if (cores.size() != static_cast<std::size_t>(members)) cores.clear();
  return cores;
}

}  // namespace

thread_team::thread_team(std::int32_t members)
    : size_(std::max(1, members)),
      cores_(cores_for(size_)),
      sleepers_(size_ <= usable_cores() ? spins_before_sleep : 0) {
  threads_.reserve(static_cast<std::size_t>(size_ - 1));
  for (std::int32_t member = 1; member < size_; ++member)
    threads_.emplace_back([this, member] { work(member); });
}

thread_team::~thread_team() {
  stopping_.store(true, std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_seq_cst);
  sleepers_.wake(job_);
  for (std::thread& thread : threads_) thread.join();
}

void thread_team::run_task(entry call, void* task) {
  call_ = call;
  task_ = task;
  failed_.store(false, std::memory_order_relaxed);
  failure_ = nullptr;
  cursor_.store(0, std::memory_order_relaxed);
  arrived_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<std::uint32_t>(size_ - 1), std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_seq_cst);
  sleepers_.wake(job_);
  std::optional<core_stay> stay;
  if (!cores_.empty()) stay.emplace(cores_.front(), cores_);
  execute(0);
  for (std::uint32_t left = busy_.load(std::memory_order_acquire); left != 0;
       left = busy_.load(std::memory_order_acquire)) {
    sleepers_.wait_while(busy_, left);
  }
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void thread_team::work(std::int32_t member) {
  ::pthread_setname_np(::pthread_self(), fmt::format("team member {}", member).c_str());
  if (!cores_.empty()) stay_on(cores_[static_cast<std::size_t>(member)]);
  for (std::uint32_t seen = 0;;) {
    sleepers_.wait_while(job_, seen);
    seen = job_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    execute(member);
    busy_.fetch_sub(1, std::memory_order_seq_cst);
    sleepers_.wake(busy_);
  }
}

void thread_team::execute(std::int32_t member) {
  try {
    call_(task_, member);
    return;
  } catch (const task_interrupted&) {
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
  failed_.store(true, std::memory_order_relaxed);
  phase_.fetch_add(1, std::memory_order_seq_cst);
  sleepers_.wake(phase_);
}

void thread_team::barrier() {
  const std::uint32_t phase = phase_.load(std::memory_order_acquire);
  if (failed_.load(std::memory_order_relaxed)) throw task_interrupted{};
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    cursor_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_seq_cst);
    sleepers_.wake(phase_);
    return;
  }
  sleepers_.wait_while(phase_, phase);
  if (failed_.load(std::memory_order_relaxed)) throw task_interrupted{};
}

}  // namespace troupe
