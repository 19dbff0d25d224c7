// Device memory on the host: allocations with unused bytes around them, poisoned, in one range of addresses.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels::cuda::emulation {

inline constexpr unsigned char poison = 0xFF;  // NaN as bf16, fp16 and fp32; -1 as an index

// What cudaMalloc gives lies in one range of addresses of this size; memory that was freed comes back late.
inline constexpr std::size_t device_range_bytes = std::size_t{4} << 30;

// So many neighbouring bytes of it have one record of who accessed them.
inline constexpr std::size_t recorded_together = 2;

// Addresses of zeroed memory, which takes room where it is touched.
void* reserve_addresses(std::size_t bytes);

// Where in the range of device memory an address lies.
std::size_t place_in_device_range(std::uintptr_t address);

// null where the device's memory does not suffice.
void* allocate_device_memory(std::size_t bytes);
// False where no allocation begins at `memory`.
bool free_device_memory(void* memory);
std::size_t free_device_bytes();
std::size_t total_device_bytes();
std::size_t device_allocations();

// Memory of the host that the device may reach as well (cudaMallocHost).
void* allocate_pinned_memory(std::size_t bytes);
bool free_pinned_memory(void* memory);

enum class memory_kind { device, pinned, other };
memory_kind kind_of(const void* address);

// Whether all of [address, address + bytes) lies in one allocation of device memory.
bool is_allocated(std::uintptr_t address, std::size_t bytes);
// The same for pinned memory.
bool is_pinned(std::uintptr_t address, std::size_t bytes);

}  // namespace troupe::kernels::cuda::emulation
