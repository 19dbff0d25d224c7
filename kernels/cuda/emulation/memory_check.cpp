// The compiler calls these before every load and store of code that is compiled with -fsanitize=thread.
// Nothing of ThreadSanitizer's own library is linked: a kernel's accesses are checked here against the
// block's shared memory, the device's allocations and the thread's own stack.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/emulation/block_races.hpp"
#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/early_launch.hpp"
#include "kernels/cuda/emulation/memory_check.hpp"
#include "kernels/cuda/emulation/running_block.hpp"
#include "kernels/cuda/emulation/shared_memory.hpp"
#include "kernels/cuda/emulation/thread_races.hpp"

extern "C" {
extern char __executable_start;
extern char _end;
}

namespace troupe::kernels::cuda::emulation {
namespace {

bool within(std::uintptr_t address, std::uintptr_t base, std::size_t bytes) { return address - base < bytes; }

// What a kernel reads that is neither global nor shared memory: constants, built-in variables and its own
// arguments.
bool is_readable_by_all(std::uintptr_t address) {
  const auto image = reinterpret_cast<std::uintptr_t>(&__executable_start);
  return within(address, image, reinterpret_cast<std::uintptr_t>(&_end) - image) ||
         within(address, reinterpret_cast<std::uintptr_t>(running.call->arguments.get()),
                running.call->argument_bytes) ||
         within(address, reinterpret_cast<std::uintptr_t>(running.call), sizeof(kernel_call));
}

void check_other_access(std::uintptr_t address, std::size_t bytes, access kind) {
  const stack_area area = stacks();
  if (within(address, area.base, area.bytes_each * max_block_threads)) {
    if (within(address, area.base + running.current * area.bytes_each, area.bytes_each)) return;
    stop_kernel("illegal address: another thread's local memory");
  }
  if (is_pinned(address, bytes) || (kind == access::read && is_readable_by_all(address))) return;
  stop_kernel("illegal address: {} {} bytes of the host's memory at {:#x}", name(kind), bytes, address);
}

}  // namespace

void check_access(const void* memory, std::size_t bytes, access kind, std::size_t alignment) {
  if (!running.checked) return;
  const unchecked from_here;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const bool shared = is_shared_memory(address);
  if (!shared && kind_of(memory) != memory_kind::device) return check_other_access(address, bytes, kind);
  // The compiler names the size and not the type: 16 bytes of smaller values count as a vector here.
  if (address % alignment != 0) {
    stop_kernel("misaligned address: {} bytes at {:#x}", bytes, address);
  }
  if (shared) return check_shared_access(address, bytes, kind);
  if (!is_allocated(address, bytes)) {
    stop_kernel("out of bounds: {} {} bytes of device memory beside its allocations", name(kind), bytes);
  }
  const std::size_t place = place_in_device_range(address);
  if (running.call->early) check_early_access(kind, last_writer(place, bytes));
  check_between_threads(place, bytes, kind);
  check_between_blocks(place, bytes, kind);
}

namespace {

void check_range(const void* memory, std::size_t bytes, access kind) {
  if (bytes > 0) check_access(memory, bytes, kind, 1);
}

}  // namespace

}  // namespace troupe::kernels::cuda::emulation

using troupe::kernels::cuda::emulation::access;
using troupe::kernels::cuda::emulation::check_access;
using troupe::kernels::cuda::emulation::check_range;

#define TROUPE_CHECKED(bytes)                                                                         \
  void __tsan_read##bytes(void* address) { check_access(address, bytes, access::read, bytes); }       \
  void __tsan_write##bytes(void* address) { check_access(address, bytes, access::write, bytes); }     \
  void __tsan_unaligned_read##bytes(void* address) { check_access(address, bytes, access::read, 1); } \
  void __tsan_unaligned_write##bytes(void* address) { check_access(address, bytes, access::write, 1); }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
TROUPE_CHECKED(1)
TROUPE_CHECKED(2)
TROUPE_CHECKED(4)
TROUPE_CHECKED(8)
TROUPE_CHECKED(16)
void __tsan_read_range(void* address, std::size_t bytes) { check_range(address, bytes, access::read); }
void __tsan_write_range(void* address, std::size_t bytes) { check_range(address, bytes, access::write); }
void __tsan_vptr_update(void**, void*) {}
// What kernels call by the names of the C library (checked_copies.hpp), and the compiler for large structs.
void* troupe_checked_memcpy(void* to, const void* from, std::size_t bytes) {
  check_range(from, bytes, access::read);
  check_range(to, bytes, access::write);
  return std::memcpy(to, from, bytes);
}
void* troupe_checked_memmove(void* to, const void* from, std::size_t bytes) {
  check_range(from, bytes, access::read);
  check_range(to, bytes, access::write);
  return std::memmove(to, from, bytes);
}
void* troupe_checked_memset(void* to, int value, std::size_t bytes) {
  check_range(to, bytes, access::write);
  return std::memset(to, value, bytes);
}
// The launch's own shared pointers, and guards of static variables.
int __tsan_atomic32_fetch_add(volatile int* value, int added, int) {
  return __atomic_fetch_add(value, added, __ATOMIC_SEQ_CST);
}
char __tsan_atomic8_load(const volatile char* value, int) { return __atomic_load_n(value, __ATOMIC_SEQ_CST); }
}

#undef TROUPE_CHECKED
