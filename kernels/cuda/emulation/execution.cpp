#include "kernels/cuda/emulation/execution.hpp"

#include <fmt/format.h>

#include <bit>

#include "kernels/cuda/emulation/block_races.hpp"
#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/device_variables.hpp"
#include "kernels/cuda/emulation/early_launch.hpp"
#include "kernels/cuda/emulation/fiber.hpp"
#include "kernels/cuda/emulation/reports.hpp"
#include "kernels/cuda/emulation/running_block.hpp"
#include "kernels/cuda/emulation/shared_memory.hpp"

namespace troupe::kernels::cuda::emulation {

running_block running;

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;

// Threads that can go on, oldest first; each stands here once at most.
struct ready_ring {
  std::array<std::uint16_t, max_block_threads> threads;
  unsigned first = 0;
  unsigned count = 0;
};

ready_ring ready;
void* scheduler_stack = nullptr;
bool stopped = false;
std::uint64_t launches = 0;

std::byte* stack_memory() {
  static auto* const memory = static_cast<std::byte*>(reserve_addresses(stack_bytes * max_block_threads));
  return memory;
}

// The stack to go on with: the next ready thread's, or the scheduler's where none is.
void* next_stack() {
  if (ready.count == 0) return scheduler_stack;
  running.current = ready.threads[ready.first];
  ready.first = (ready.first + 1) % max_block_threads;
  ready.count--;
  threadIdx = running.thread[running.current].index;
  return running.thread[running.current].stack;
}

void thread_main() {
  const kernel_call& call = *running.call;
  call.invoke(call.function, call.arguments.get());
  block_thread& me = running.thread[running.current];
  me.waits = thread_waits::ended;
  end_lane(running.current);
  troupe_switch_stack(&me.stack, next_stack());
}

const char* waiting_for(const block_thread& thread) {
  switch (thread.waits) {
    case thread_waits::ended:
      return "ended";
    case thread_waits::for_block:
      return "waits for its block";
    case thread_waits::for_warp:
      return "waits for its warp";
    case thread_waits::no:
      break;
  }
  return "runs";
}

std::string describe(unsigned thread) {
  const block_thread& t = running.thread[thread];
  if (t.waits == thread_waits::ended) return fmt::format("thread {} {}", thread, waiting_for(t));
  return fmt::format("thread {} {} at {}:{}", thread, waiting_for(t), t.request.place.file,
                     t.request.place.line);
}

// Nobody can go on: the first thread, and the first that stands elsewhere.
std::string divergence() {
  std::string text = "divergent barrier: " + describe(0);
  const block_thread& first = running.thread[0];
  for (unsigned i = 1; i < running.threads; i++) {
    const block_thread& other = running.thread[i];
    if (other.waits != first.waits || other.request.place.line != first.request.place.line ||
        other.request.mask != first.request.mask) {
      return text + ", " + describe(i);
    }
  }
  return text;
}

// A device promises no order of blocks: half of the launches run from the last to the first. Which ones is
// the sequence of Thue and Morse, so that a kernel which is every second or every tenth launch meets both.
bool runs_backwards(std::uint64_t launch) { return std::popcount(launch) % 2 != 0; }

bool run_block() {
  running.block_epoch++;
  running.first_epoch = running.block_epoch;
  running.arrived = 0;
  ready = {};
  begin_block_shared_memory();
  for (unsigned i = 0; i < running.threads; i++) {
    block_thread& thread = running.thread[i];
    thread.stack = new_stack(stack_memory() + i * stack_bytes, stack_bytes, thread_main);
    thread.waits = thread_waits::no;
    thread.has_waited = false;
    make_ready(i);
  }
  begin_warps();
  running.checked = true;
  troupe_switch_stack(&scheduler_stack, next_stack());
  running.checked = false;
  if (stopped) return false;
  for (unsigned i = 0; i < running.threads; i++) {
    if (running.thread[i].waits == thread_waits::ended) continue;
    report(fmt::format("{} in {}, block ({}, {}, {})", divergence(), running.call->name, blockIdx.x,
                       blockIdx.y, blockIdx.z));
    return false;
  }
  return true;
}

}  // namespace

stack_area stacks() { return {reinterpret_cast<std::uintptr_t>(stack_memory()), stack_bytes}; }

void make_ready(unsigned thread) {
  running.thread[thread].waits = thread_waits::no;
  ready.threads[(ready.first + ready.count) % max_block_threads] = static_cast<std::uint16_t>(thread);
  ready.count++;
}

void leave_thread() {
  void** const place = &running.thread[running.current].stack;
  troupe_switch_stack(place, next_stack());
}

void stop_kernel_with(const std::string& what) {
  report(fmt::format("{} in {}, block ({}, {}, {}), thread ({}, {}, {})", what, running.call->name,
                     blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z));
  stopped = true;
  void* abandoned = nullptr;
  troupe_switch_stack(&abandoned, scheduler_stack);
  __builtin_unreachable();
}

int wait_for_block(block_barrier kind, int predicate, source_place place) {
  block_thread& me = running.thread[running.current];
  me.waits = thread_waits::for_block;
  me.barrier = kind;
  me.predicate = predicate;
  me.request.place = place;
  if (++running.arrived < running.threads) {
    leave_thread();
    return static_cast<int>(me.result);
  }
  int count = 0;
  for (unsigned i = 0; i < running.threads; i++) {
    const block_thread& other = running.thread[i];
    if (other.request.place.line != place.line || other.barrier != kind) {
      me.waits = thread_waits::no;
      stop_kernel("divergent barrier: {}, thread {} at {}:{}", describe(i), running.current, place.file,
                  place.line);
    }
    count += other.predicate != 0 ? 1 : 0;
  }
  running.arrived = 0;
  running.block_epoch++;
  int result = 0;
  if (kind == block_barrier::count) result = count;
  if (kind == block_barrier::all_of) result = count == static_cast<int>(running.threads) ? 1 : 0;
  if (kind == block_barrier::any_of) result = count > 0 ? 1 : 0;
  const unsigned last = running.current;
  for (unsigned i = 0; i < running.threads; i++) {
    running.thread[i].result = static_cast<std::uint64_t>(result);
    if (i != last) make_ready(i);
  }
  me.waits = thread_waits::no;
  return result;
}

bool execute(const kernel_call& call) {
  running.call = &call;
  running.threads = call.block.x * call.block.y * call.block.z;
  stopped = false;
  gridDim = call.grid;
  blockDim = call.block;
  for (unsigned i = 0; i < running.threads; i++) {
    running.thread[i].index = {i % call.block.x, i / call.block.x % call.block.y,
                               i / (call.block.x * call.block.y)};
  }
  begin_kernel_shared_memory(call.dynamic_bytes, call.most_shared_bytes);
  const std::uint64_t blocks = std::uint64_t{call.grid.x} * call.grid.y * call.grid.z;
  begin_early_launch(call.early, begin_block_races(blocks));
  const bool backwards = runs_backwards(launches++);
  for (std::uint64_t i = 0; i < blocks; i++) {
    const std::uint64_t b = backwards ? blocks - 1 - i : i;
    blockIdx = {static_cast<unsigned>(b % call.grid.x), static_cast<unsigned>(b / call.grid.x % call.grid.y),
                static_cast<unsigned>(b / (std::uint64_t{call.grid.x} * call.grid.y))};
    enter_block(b);
    if (!run_block()) return false;
  }
  return end_early_launch();
}

}  // namespace troupe::kernels::cuda::emulation
