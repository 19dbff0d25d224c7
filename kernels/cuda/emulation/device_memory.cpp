#include "kernels/cuda/emulation/device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "kernels/cuda/emulation/faults.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

constexpr std::size_t alignment = 256;  // as cudaMalloc's
constexpr std::size_t gap = 256;        // unused bytes behind each allocation
constexpr std::size_t granule = 16;

// A range of addresses, and for each 16 bytes of it how many of them belong to an allocation.
class memory_range {
 public:
  explicit memory_range(std::size_t bytes) : bytes_(bytes) {
    base_ = static_cast<std::byte*>(reserve_addresses(bytes));
    allocated_ = static_cast<std::byte*>(reserve_addresses(bytes / granule));
  }

  void* allocate(std::size_t bytes) {
    const std::size_t taken = (bytes + gap + alignment - 1) / alignment * alignment;
    // Freed addresses come back as late as possible, so that their late use is seen.
    std::size_t place = find(next_, taken);
    if (place + taken > bytes_) place = find(gap, taken);
    if (place + taken > bytes_) return nullptr;
    sizes_[place] = bytes;
    next_ = place + taken;
    used_ += bytes;
    mark(place, bytes, true);
    std::memset(base_ + place, poison, bytes);
    return base_ + place;
  }

  bool free(void* memory) {
    const auto found = sizes_.find(static_cast<std::size_t>(static_cast<std::byte*>(memory) - base_));
    if (found == sizes_.end()) return false;
    mark(found->first, found->second, false);
    constexpr std::size_t page = 4096;
    if (found->second > 256 * page) {
      const std::size_t first = (found->first + page - 1) / page * page;
      const std::size_t last = (found->first + found->second) / page * page;
      madvise(base_ + first, last - first, MADV_DONTNEED);
    }
    used_ -= found->second;
    sizes_.erase(found);
    return true;
  }

  std::size_t place(std::uintptr_t address) const {
    return address - reinterpret_cast<std::uintptr_t>(base_);
  }
  bool holds(std::uintptr_t address) const {
    return address - reinterpret_cast<std::uintptr_t>(base_) < bytes_;
  }

  bool is_allocated(std::uintptr_t address, std::size_t bytes) const {
    const std::size_t first = address - reinterpret_cast<std::uintptr_t>(base_);
    const std::size_t last = first + bytes - 1;
    if (last >= bytes_ || last < first) return false;
    if (first % granule >= allocated_byte(first) || last % granule >= allocated_byte(last)) return false;
    if (bytes <= gap) return true;
    auto next = sizes_.upper_bound(first);
    --next;
    return last < next->first + next->second;
  }

  std::size_t used() const { return used_; }
  std::size_t allocations() const { return sizes_.size(); }

 private:
  std::size_t allocated_byte(std::size_t place) const {
    return std::to_integer<std::size_t>(allocated_[place / granule]);
  }

  // The first free place at or behind `from`; bytes_ where there is none.
  std::size_t find(std::size_t from, std::size_t taken) const {
    std::size_t place = from;
    for (auto next = sizes_.lower_bound(from); next != sizes_.end(); ++next) {
      if (place + taken <= next->first) return place;
      place = (next->first + next->second + gap + alignment - 1) / alignment * alignment;
    }
    return place + taken <= bytes_ ? place : bytes_;
  }

  void mark(std::size_t place, std::size_t bytes, bool allocated) {
    std::memset(allocated_ + place / granule, allocated ? static_cast<int>(granule) : 0, bytes / granule);
    if (bytes % granule != 0) {
      allocated_[(place + bytes) / granule] = static_cast<std::byte>(allocated ? bytes % granule : 0);
    }
  }

  std::size_t bytes_;
  std::byte* base_;
  std::byte* allocated_;
  std::map<std::size_t, std::size_t> sizes_;  // by place
  std::size_t next_ = gap;
  std::size_t used_ = 0;
};

memory_range& device_range() {
  static memory_range range(device_range_bytes);
  return range;
}

memory_range& pinned_range() {
  static memory_range range(std::size_t{4} << 30);
  return range;
}

}  // namespace

void* reserve_addresses(std::size_t bytes) {
  void* const area =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) throw std::bad_alloc();
  return area;
}

std::size_t place_in_device_range(std::uintptr_t address) { return device_range().place(address); }

void* allocate_device_memory(std::size_t bytes) {
  if (bytes > free_device_bytes()) return nullptr;
  return device_range().allocate(bytes);
}

bool free_device_memory(void* memory) { return device_range().free(memory); }
std::size_t total_device_bytes() { return faults().device_bytes; }
std::size_t free_device_bytes() {
  return total_device_bytes() - std::min(total_device_bytes(), device_range().used());
}
std::size_t device_allocations() { return device_range().allocations(); }
void* allocate_pinned_memory(std::size_t bytes) { return pinned_range().allocate(bytes); }
bool free_pinned_memory(void* memory) { return pinned_range().free(memory); }

memory_kind kind_of(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  if (device_range().holds(place)) return memory_kind::device;
  return pinned_range().holds(place) ? memory_kind::pinned : memory_kind::other;
}

bool is_allocated(std::uintptr_t address, std::size_t bytes) {
  return device_range().is_allocated(address, bytes);
}
bool is_pinned(std::uintptr_t address, std::size_t bytes) {
  return pinned_range().holds(address) && pinned_range().is_allocated(address, bytes);
}

}  // namespace troupe::kernels::cuda::emulation
