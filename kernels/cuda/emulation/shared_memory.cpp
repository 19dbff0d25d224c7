#include "kernels/cuda/emulation/shared_memory.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

constexpr std::size_t array_gap = 128;  // unused bytes behind each array
constexpr std::size_t area_bytes = shared_memory_bytes + (std::size_t{64} << 10);
constexpr std::uint16_t nobody = 0xFFFF;

// What is known of one byte. Records of an earlier block or barrier count for nothing: epochs only grow.
struct byte_record {
  std::uint32_t written_block = 0;  // first epoch of the block that last wrote it
  std::uint32_t write_epoch = 0;
  std::uint32_t read_epoch = 0;
  std::uint32_t write_warp_epoch = 0;
  std::uint32_t read_warp_epoch = 0;
  std::uint16_t writer = nobody;
  std::uint16_t reader = nobody;
  bool written_atomically = false;
  bool many_lanes_read = false;  // of the reader's warp, since its last __syncwarp
  bool many_warps_read = false;
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

std::size_t add_array(const void* key, std::size_t bytes) {
  if (bytes > bytes_left)
    stop_kernel("shared memory: {} bytes of an array where {} are left", bytes, bytes_left);
  bytes_left -= bytes;
  const std::size_t offset = used;
  used = (offset + bytes + array_gap + 15) & ~std::size_t{15};
  if (used > area_bytes) stop_kernel("shared memory: more arrays than the emulation has room for");
  arrays.push_back({key, offset, bytes});
  for (std::size_t i = 0; i < bytes; i++) owner[offset + i] = static_cast<std::uint8_t>(arrays.size());
  return offset;
}

// Whether an earlier access of this block by `thread` is ordered before one of the running thread.
bool ordered(std::uint32_t epoch, std::uint32_t warp_epoch, std::uint16_t thread) {
  if (epoch != running.block_epoch || thread == running.current) return true;
  const unsigned warp = running.current / warp_size;
  return thread / warp_size == warp && warp_epoch != running.warps[warp].epoch;
}

const char* name(access kind) {
  if (kind == access::atomic) return "atomic operation on";
  return kind == access::read ? "read of" : "write to";
}

[[noreturn]] void stop_race(access kind, std::size_t offset, const char* other, unsigned thread) {
  const shared_array& array = arrays[owner[offset] - 1U];
  stop_kernel("race: {} byte {} of a shared array of {} bytes, which thread {} {} since the last barrier",
              name(kind), offset - array.offset, array.bytes, thread, other);
}

void note_read(byte_record& record) {
  const unsigned warp = running.current / warp_size;
  const std::uint32_t warp_epoch = running.warps[warp].epoch;
  const bool earlier = record.read_epoch == running.block_epoch && record.reader != nobody;
  if (!earlier) {
    record.many_lanes_read = record.many_warps_read = false;
  } else if (record.reader / warp_size != warp) {
    record.many_warps_read = true;
  } else if (record.read_warp_epoch != warp_epoch) {
    record.many_lanes_read = false;
  } else if (record.reader != running.current) {
    record.many_lanes_read = true;
  }
  record.read_epoch = running.block_epoch;
  record.read_warp_epoch = warp_epoch;
  record.reader = static_cast<std::uint16_t>(running.current);
}

void check_against_writer(const byte_record& record, access kind, std::size_t offset) {
  if (record.written_block != running.first_epoch) return;
  if (kind == access::atomic && record.written_atomically) return;
  if (!ordered(record.write_epoch, record.write_warp_epoch, record.writer)) {
    stop_race(kind, offset, "wrote", record.writer);
  }
}

void check_against_readers(const byte_record& record, access kind, std::size_t offset) {
  if (record.read_epoch != running.block_epoch || record.reader == nobody) return;
  const unsigned warp = running.current / warp_size;
  const bool others_of_warp = record.many_lanes_read && record.reader / warp_size == warp &&
                              record.read_warp_epoch == running.warps[warp].epoch;
  if (record.many_warps_read || others_of_warp ||
      !ordered(record.read_epoch, record.read_warp_epoch, record.reader)) {
    stop_race(kind, offset, "read", record.reader);
  }
}

void note_write(byte_record& record, access kind) {
  record.written_block = running.first_epoch;
  record.write_epoch = running.block_epoch;
  record.write_warp_epoch = running.warps[running.current / warp_size].epoch;
  record.writer = static_cast<std::uint16_t>(running.current);
  record.written_atomically = kind == access::atomic;
}

}  // namespace

void begin_kernel_shared_memory(std::size_t dynamic_bytes, std::size_t most) {
  arrays.clear();
  bytes_left = most;
  owner.fill(0);
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
    if (kind != access::write && record.written_block != running.first_epoch) {
      const shared_array& array = arrays[owner[offset] - 1U];
      stop_kernel("uninitialised: {} byte {} of a shared array of {} bytes, which nobody wrote", name(kind),
                  offset - array.offset, array.bytes);
    }
    check_against_writer(record, kind, offset);
    if (kind == access::read) {
      note_read(record);
    } else {
      check_against_readers(record, kind, offset);
      note_write(record, kind);
    }
  }
}

}  // namespace troupe::kernels::cuda::emulation
