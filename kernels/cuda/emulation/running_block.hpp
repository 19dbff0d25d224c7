// The block that runs: state that execution, warp operations and the memory check share.
#pragma once
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/cuda/emulation/execution.hpp"

namespace troupe::kernels::cuda::emulation {

enum class thread_waits : std::uint8_t { no, for_block, for_warp, ended };

struct block_thread {
  void* stack = nullptr;
  uint3 index{};
  thread_waits waits = thread_waits::no;
  block_barrier barrier{};
  int predicate = 0;
  lane_request request{};  // also holds the place of a block barrier
  std::uint64_t result = 0;
  bool has_waited = false;  // for the kernels before: early_launch.hpp
};

struct warp_state {
  unsigned waiting = 0;     // lanes at a warp operation
  unsigned ended = 0;       // lanes that have ended, or never were
  std::uint32_t epoch = 0;  // counts __syncwarp
};

struct running_block {
  const kernel_call* call = nullptr;
  unsigned threads = 0;
  unsigned current = 0;
  unsigned arrived = 0;  // threads at the block barrier
  // Counts barriers over the whole life of the process, so that no record of an earlier block needs clearing.
  std::uint32_t block_epoch = 0;
  std::uint32_t first_epoch = 0;  // of this block
  std::array<warp_state, max_block_threads / warp_size> warps{};
  std::array<block_thread, max_block_threads> thread;
  // Whether accesses are the kernel's: not where no kernel runs, nor within the emulation itself, some of
  // whose templates are compiled with kernels.
  bool checked = false;
};

extern running_block running;

// The emulation at work for the running thread.
class unchecked {
 public:
  unchecked() : before_(std::exchange(running.checked, false)) {}
  unchecked(const unchecked&) = delete;
  unchecked& operator=(const unchecked&) = delete;
  ~unchecked() { running.checked = before_; }

 private:
  bool before_;
};

// Ends the running kernel with a report that names kernel, block and thread.
[[noreturn]] void stop_kernel_with(const std::string& what);

template <class... Arguments>
[[noreturn]] void stop_kernel(fmt::format_string<Arguments...> what, Arguments&&... arguments) {
  running.checked = false;
  stop_kernel_with(fmt::format(what, std::forward<Arguments>(arguments)...));
}

// Makes a waiting thread runnable; the calling thread goes on first.
void make_ready(unsigned thread);
// Leaves the calling thread until it is made ready.
void leave_thread();
void begin_warps();
// A thread has ended: its warp no longer waits for it.
void end_lane(unsigned thread);

// The fibers' stacks, for the memory check.
struct stack_area {
  std::uintptr_t base;
  std::size_t bytes_each;
};
stack_area stacks();

}  // namespace troupe::kernels::cuda::emulation
