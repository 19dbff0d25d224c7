#include "kernels/cuda/emulation/thread_races.hpp"

#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/running_block.hpp"
#include "kernels/cuda/emulation/thread_accesses.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

thread_accesses* thread_records() {
  static auto* const memory = static_cast<thread_accesses*>(
      reserve_addresses(device_range_bytes / recorded_together * sizeof(thread_accesses)));
  return memory;
}

}  // namespace

void check_between_threads(std::size_t place, std::size_t bytes, access kind) {
  if (running.threads < 2) return;
  thread_accesses* const last = thread_records() + (place + bytes - 1) / recorded_together;
  for (thread_accesses* record = thread_records() + place / recorded_together; record <= last; record++) {
    if (const auto race = record->race_of(kind)) {
      stop_kernel("race: {} device memory that thread {} of the block {} since the last barrier", name(kind),
                  race->thread, race->did);
    }
    record->note(kind);
  }
}

}  // namespace troupe::kernels::cuda::emulation
