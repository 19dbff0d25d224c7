#include "kernels/cuda/emulation/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

// Unused bytes before and behind each array: as many as a block can have at all, so that no index which stays
// within a device's shared memory leads from one array into another.
constexpr std::size_t array_gap = shared_memory_bytes;
constexpr std::size_t most_arrays = 16;
constexpr std::size_t area_bytes = shared_memory_bytes + (most_arrays + 1) * array_gap;
constexpr std::uint16_t nobody = 0xFFFF;

// The last access of one kind, and whether it stands for those of others too.
struct byte_access {
  std::uint32_t epoch = 0;
  std::uint32_t warp_epoch = 0;
  std::uint16_t thread = nobody;
  bool many_lanes = false;  // of the thread's warp, since its last __syncwarp
  bool many_warps = false;  // since the last barrier
};

// What is known of one byte. Records of an earlier block or barrier count for nothing: epochs only grow.
struct byte_record {
  std::uint32_t written_block = 0;  // first epoch of the block that last wrote it
  byte_access write;                // of several threads where they wrote atomically
  byte_access read;
  bool written_atomically = false;
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

std::uint32_t warp_epoch_now() { return running.warps[running.current / warp_size].epoch; }

// Whether what is recorded of this block is ordered before an access of the running thread.
bool ordered(const byte_access& earlier) {
  if (earlier.epoch != running.block_epoch || earlier.thread == nobody) return true;
  if (earlier.many_warps || earlier.thread / warp_size != running.current / warp_size) return false;
  if (earlier.warp_epoch != warp_epoch_now()) return true;
  return earlier.thread == running.current && !earlier.many_lanes;
}

// An access of the running thread, after which nobody else's counts.
byte_access access_now() {
  return {.epoch = running.block_epoch,
          .warp_epoch = warp_epoch_now(),
          .thread = static_cast<std::uint16_t>(running.current)};
}

// An access beside those that are recorded.
void join(byte_access& record) {
  byte_access now = access_now();
  if (record.epoch == now.epoch && record.thread != nobody) {
    const bool same_warp = record.thread / warp_size == now.thread / warp_size;
    const bool same_time = same_warp && record.warp_epoch == now.warp_epoch;
    now.many_warps = record.many_warps || !same_warp;
    now.many_lanes = same_time && (record.many_lanes || record.thread != now.thread);
  }
  record = now;
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

void check_against_writers(const byte_record& record, access kind, std::size_t offset) {
  if (record.written_block != running.first_epoch) return;
  if (kind == access::atomic && record.written_atomically) return;
  if (!ordered(record.write)) stop_race(kind, offset, "wrote", record.write.thread);
}

void check_against_readers(const byte_record& record, access kind, std::size_t offset) {
  if (!ordered(record.read)) stop_race(kind, offset, "read", record.read.thread);
}

void note_write(byte_record& record, access kind) {
  record.written_block = running.first_epoch;
  record.written_atomically = kind == access::atomic;
  if (kind == access::atomic) {
    join(record.write);
  } else {
    record.write = access_now();
  }
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
    if (kind != access::write && record.written_block != running.first_epoch) {
      const shared_array& array = arrays[owner[offset] - 1U];
      stop_kernel("uninitialised: {} byte {} of a shared array of {} bytes, which nobody wrote", name(kind),
                  offset - array.offset, array.bytes);
    }
    check_against_writers(record, kind, offset);
    if (kind == access::read) {
      join(record.read);
    } else {
      check_against_readers(record, kind, offset);
      note_write(record, kind);
    }
  }
}

}  // namespace troupe::kernels::cuda::emulation
