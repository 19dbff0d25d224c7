#include "kernels/cuda/emulation/block_races.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

// The last access of two neighbouring bytes; of an earlier launch it counts for nothing.
struct block_access {
  std::uint32_t launch;
  std::uint32_t block;
  std::uint32_t fences;  // how many the block had behind it
  bool others;           // a read: of several blocks; a write: atomic
};

struct place_record {
  block_access write;
  block_access read;
};

struct block_progress {
  std::uint32_t fences = 0;
  std::uint32_t released = 0;  // fences before its last atomic operation
  bool acquired = false;       // has carried one out
};

std::uint32_t launch_number = 0;
std::uint32_t current_block = 0;
std::vector<block_progress> progress;

place_record* place_records() {
  static auto* const memory = static_cast<place_record*>(
      reserve_addresses(device_range_bytes / recorded_together * sizeof(place_record)));
  return memory;
}

bool of_this_launch(const block_access& earlier) { return earlier.launch == launch_number; }

bool in_order(const block_access& earlier) {
  if (earlier.block == current_block) return progress[current_block].acquired;
  return progress[current_block].acquired && progress[earlier.block].released > earlier.fences;
}

[[noreturn]] void stop_race_of_blocks(const char* mine, const char* other, std::uint32_t block) {
  stop_kernel("race between blocks: {} device memory that block {} {} in the same launch", mine, block,
              other);
}

void check_record(const place_record& record, access kind) {
  const block_access& write = record.write;
  // Another block's atomic operation is itself what orders, for a block that has carried out one.
  const bool met_atomically = write.others && (is_atomic(kind) || progress[current_block].acquired);
  if (of_this_launch(write) && write.block != current_block && !met_atomically && !in_order(write)) {
    stop_race_of_blocks(name(kind), "wrote", write.block);
  }
  const block_access& read = record.read;
  if (!reads(kind) && of_this_launch(read) && (read.others || read.block != current_block) &&
      !in_order(read)) {
    stop_race_of_blocks(name(kind), "read", read.block);
  }
}

}  // namespace

std::uint32_t begin_block_races(std::uint64_t blocks) {
  progress.assign(blocks, {});
  return ++launch_number;
}

void enter_block(std::uint64_t block) { current_block = static_cast<std::uint32_t>(block); }

void fence() {
  if (running.checked) progress[current_block].fences++;
}

void check_between_blocks(std::size_t place, std::size_t bytes, access kind) {
  if (progress.size() < 2 && kind == access::read) return;
  block_progress& mine = progress[current_block];
  place_record* const last = place_records() + (place + bytes - 1) / recorded_together;
  for (place_record* record = place_records() + place / recorded_together; record <= last; record++) {
    check_record(*record, kind);
    const block_access& read = record->read;
    const bool read_by_others = of_this_launch(read) && (read.others || read.block != current_block);
    if (kind == access::read) {
      record->read = {launch_number, current_block, mine.fences, read_by_others};
    } else {
      record->write = {launch_number, current_block, mine.fences, is_atomic(kind)};
    }
  }
  if (kind == access::atomic) {
    mine.acquired = true;
    mine.released = mine.fences;
  }
}

std::uint32_t last_writer(std::size_t place, std::size_t bytes) {
  std::uint32_t writer = 0;
  const place_record* const last = place_records() + (place + bytes - 1) / recorded_together;
  for (const place_record* record = place_records() + place / recorded_together; record <= last; record++)
    writer = std::max(writer, record->write.launch);
  return writer;
}

}  // namespace troupe::kernels::cuda::emulation
