// What the threads of a block have done to a place of memory, and which of them are in order.
#pragma once
#include <cstdint>
#include <optional>

#include "kernels/cuda/emulation/access.hpp"
#include "kernels/cuda/emulation/execution.hpp"

namespace troupe::kernels::cuda::emulation {

// The last access of one kind, and whether it stands for those of others too. Of an earlier block or barrier
// it counts for nothing: epochs only grow, from 1 on.
struct thread_access {
  std::uint32_t epoch = 0;            // running_block::block_epoch
  std::uint32_t warp_epoch : 20 = 0;  // warp_state::epoch; compared within one epoch alone
  std::uint32_t thread : 10 = 0;
  std::uint32_t many_lanes : 1 = 0;  // of the thread's warp, since its last __syncwarp
  std::uint32_t many_warps : 1 = 0;  // since the last barrier
};
static_assert(sizeof(thread_access) == 8 && max_block_threads <= 1U << 10U);

// The accesses of one place that later ones may race with.
class thread_accesses {
 public:
  struct race {
    unsigned thread;
    const char* did;
  };
  // What an access by the running thread is not in order with.
  std::optional<race> race_of(access kind) const;
  // Records an access by the running thread that races with none.
  void note(access kind);

 private:
  thread_access write_;
  thread_access atomic_;
  thread_access read_;
};

}  // namespace troupe::kernels::cuda::emulation
