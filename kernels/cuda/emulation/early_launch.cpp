#include "kernels/cuda/emulation/early_launch.hpp"

#include "kernels/cuda/emulation/block_races.hpp"
#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/reports.hpp"
#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda {
namespace emulation {
namespace {

std::uint32_t newest_launch = 0;
std::uint32_t settled_launch = 0;  // that one and all before it have ended, whatever the next kernel does
bool somebody_waited = false;

}  // namespace

void begin_early_launch(bool is_early, std::uint32_t launch) {
  if (!is_early) settled_launch = launch - 1;
  newest_launch = launch;
  somebody_waited = false;
}

void settle_launches() { settled_launch = newest_launch; }

bool end_early_launch() {
  if (!running.call->early || somebody_waited) return true;
  report(
      fmt::format("{} begins early, and no thread of it waits for the kernels before", running.call->name));
  return false;
}

void check_early_access(access kind, std::uint32_t writer) {
  if (!running.call->early || running.thread[running.current].has_waited) return;
  if (kind != access::read) stop_kernel("early write: the kernels before may not have ended");
  if (writer > settled_launch) stop_kernel("early read: of what a kernel wrote that may not have ended");
}

void check_read_only_load(const void* memory, std::size_t bytes) {
  if (!running.checked || !running.call->early || kind_of(memory) != memory_kind::device) return;
  const unchecked from_here;
  const std::size_t place = place_in_device_range(reinterpret_cast<std::uintptr_t>(memory));
  if (last_writer(place, bytes) > settled_launch)
    stop_kernel("read-only load: of what a kernel wrote that may have run beside this one");
}

}  // namespace emulation

void wait_for_earlier_kernels() {
  emulation::running.thread[emulation::running.current].has_waited = true;
  emulation::somebody_waited = true;
}

}  // namespace troupe::kernels::cuda
