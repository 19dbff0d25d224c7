#include "kernels/cuda/emulation/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cuda/emulation/running_block.hpp"
#include "kernels/cuda/emulation/thread_accesses.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

// Unused bytes before and behind each array: as many as a block can have at all, so that no index which stays
// within a device's shared memory leads from one array into another.
constexpr std::size_t array_gap = shared_memory_bytes;
constexpr std::size_t most_arrays = 16;
constexpr std::size_t area_bytes = shared_memory_bytes + (most_arrays + 1) * array_gap;

// What is known of one byte.
struct byte_record {
  std::uint32_t written_block = 0;  // first epoch of the block that last wrote it
  thread_accesses accesses;
};

struct shared_array {
  const void* key;
  std::size_t offset;
  std::size_t bytes;
};

alignas(128) std::array<std::byte, area_bytes> area;
std::array<byte_record, area_bytes> records;
std::array<std::uint8_t, area_bytes> owner;  // 0: no array; else the place of its array plus one
std::vector<shared_array> arrays;
std::size_t used = array_gap;
std::size_t bytes_left = 0;

void mark_owner(const shared_array& array, std::uint8_t number) {
  std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(array.offset), array.bytes, number);
}

std::size_t add_array(const void* key, std::size_t bytes) {
  if (bytes > bytes_left)
    stop_kernel("shared memory: {} bytes of an array where {} are left", bytes, bytes_left);
  bytes_left -= bytes;
  const std::size_t offset = used;
  used = (offset + bytes + array_gap + 15) & ~std::size_t{15};
  if (arrays.size() == most_arrays)
    stop_kernel("shared memory: more than the {} arrays that the emulation has room for", most_arrays);
  arrays.push_back({key, offset, bytes});
  mark_owner(arrays.back(), static_cast<std::uint8_t>(arrays.size()));
  return offset;
}

[[noreturn]] void stop_race(access kind, std::size_t offset, const thread_accesses::race& race) {
  const shared_array& array = arrays[owner[offset] - 1U];
  stop_kernel("race: {} byte {} of a shared array of {} bytes, which thread {} {} since the last barrier",
              name(kind), offset - array.offset, array.bytes, race.thread, race.did);
}

}  // namespace

void begin_kernel_shared_memory(std::size_t dynamic_bytes, std::size_t most) {
  for (const shared_array& array : arrays) mark_owner(array, 0);
  arrays.clear();
  bytes_left = most;
  used = array_gap;
  if (dynamic_bytes > 0) add_array(nullptr, dynamic_bytes);
}

void begin_block_shared_memory() {
  for (const shared_array& array : arrays) {
    for (std::size_t i = 0; i < array.bytes; i++) area[array.offset + i] = std::byte{0xFF};
  }
}

void* dynamic_shared_memory() {
  const unchecked from_here;
  if (arrays.empty() || arrays.front().key != nullptr) {
    stop_kernel("dynamic shared memory: the launch gave none");
  }
  return area.data() + arrays.front().offset;
}

void* shared_memory(const void* key, std::size_t bytes) {
  const unchecked from_here;
  for (const shared_array& array : arrays) {
    if (array.key == key) return area.data() + array.offset;
  }
  const std::size_t offset = add_array(key, bytes);
  for (std::size_t i = 0; i < bytes; i++) area[offset + i] = std::byte{0xFF};
  return area.data() + offset;
}

bool is_shared_memory(std::uintptr_t address) {
  return address - reinterpret_cast<std::uintptr_t>(area.data()) < area_bytes;
}

void check_shared_access(std::uintptr_t address, std::size_t bytes, access kind) {
  const std::size_t first = address - reinterpret_cast<std::uintptr_t>(area.data());
  if (first + bytes > area_bytes || owner[first] == 0 || owner[first + bytes - 1] != owner[first]) {
    stop_kernel("out of bounds: {} {} bytes of shared memory beside its arrays", name(kind), bytes);
  }
  for (std::size_t offset = first; offset < first + bytes; offset++) {
    byte_record& record = records[offset];
    if (reads(kind) && record.written_block != running.first_epoch) {
      const shared_array& array = arrays[owner[offset] - 1U];
      stop_kernel("uninitialised: {} byte {} of a shared array of {} bytes, which nobody wrote", name(kind),
                  offset - array.offset, array.bytes);
    }
    if (const auto race = record.accesses.race_of(kind)) stop_race(kind, offset, *race);
    record.accesses.note(kind);
    if (kind != access::read) record.written_block = running.first_epoch;
  }
}

}  // namespace troupe::kernels::cuda::emulation
