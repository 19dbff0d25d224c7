#include "kernels/cuda/emulation/async_copy.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/memory_check.hpp"
#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

constexpr std::size_t copy_bytes = 16;

struct waiting_copy {
  void* shared;
  const void* global;  // null: zeros
};

// What a thread of the running block has asked for since it waited. A thread that ends without a wait leaves
// its copies behind; they are of the block of that epoch and belong to nobody then.
struct waiting_copies {
  std::uint32_t block = 0;
  std::vector<waiting_copy> copies;
};

std::array<waiting_copies, max_block_threads> waiting;

waiting_copies& mine() {
  waiting_copies& copies = waiting[running.current];
  if (copies.block != running.first_epoch) {
    copies.block = running.first_epoch;
    copies.copies.clear();
  }
  return copies;
}

}  // namespace

void copy_async(void* shared, const void* global, bool inside) {
  if (inside) check_access(global, copy_bytes, access::read, copy_bytes);
  check_access(shared, copy_bytes, access::write, copy_bytes);
  std::memset(shared, poison, copy_bytes);
  mine().copies.push_back({shared, inside ? global : nullptr});
}

void wait_for_copies() {
  for (const waiting_copy& copy : mine().copies) {
    check_access(copy.shared, copy_bytes, access::write, copy_bytes);
    if (copy.global != nullptr) {
      std::memcpy(copy.shared, copy.global, copy_bytes);
    } else {
      std::memset(copy.shared, 0, copy_bytes);
    }
  }
  mine().copies.clear();
}

}  // namespace troupe::kernels::cuda::emulation
