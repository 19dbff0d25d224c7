#include "kernels/cuda/emulation/thread_accesses.hpp"

#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

unsigned warp_of(unsigned thread) { return thread / warp_size; }

// An access of the running thread, after which nobody else's counts.
thread_access access_now() {
  thread_access now;
  now.epoch = running.block_epoch;
  now.warp_epoch = running.warps[warp_of(running.current)].epoch & 0xFFFFFU;
  now.thread = running.current & 0x3FFU;
  return now;
}

// Whether what is recorded is ordered before an access of the running thread.
bool ordered(const thread_access& earlier) {
  if (earlier.epoch != running.block_epoch) return true;
  if (earlier.many_warps != 0 || warp_of(earlier.thread) != warp_of(running.current)) return false;
  if (earlier.warp_epoch != access_now().warp_epoch) return true;
  return earlier.thread == running.current && earlier.many_lanes == 0;
}

// An access beside those that are recorded.
void join(thread_access& record) {
  thread_access now = access_now();
  if (record.epoch == now.epoch) {
    const bool same_warp = warp_of(record.thread) == warp_of(now.thread);
    const bool same_time = same_warp && record.warp_epoch == now.warp_epoch;
    const bool other_lane = record.many_lanes != 0 || record.thread != now.thread;
    now.many_warps = record.many_warps != 0 || !same_warp ? 1 : 0;
    now.many_lanes = same_time && other_lane ? 1 : 0;
  }
  record = now;
}

}  // namespace

std::optional<thread_accesses::race> thread_accesses::race_of(access kind) const {
  if (!ordered(write_)) return race{write_.thread, "wrote"};
  if (!is_atomic(kind) && !ordered(atomic_)) return race{atomic_.thread, "wrote atomically"};
  if (kind != access::read && !ordered(read_)) return race{read_.thread, "read"};
  return std::nullopt;
}

void thread_accesses::note(access kind) {
  switch (kind) {
    case access::read:
      return join(read_);
    case access::atomic:
    case access::relaxed:
      return join(atomic_);
    case access::write:
      write_ = access_now();
  }
}

}  // namespace troupe::kernels::cuda::emulation
