// The supervisor's part where the device has no memory for a step: the runner has left its device, which the
// next one gets, with a smaller KV cache where the warm-up needs the room.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/supervisor/supervisor.hpp"
#include "kernels/kv_tile.hpp"
#include "runtime/blocks_for.hpp"

namespace troupe {
namespace {

// Of the KV cache that the device has room for it gives a sixteenth at once, and a quarter in all:
// context_in_cache() leaves as much.
constexpr std::int32_t share_given_at_once = 16;
constexpr std::int32_t most_times_given = 4;

}  // namespace

bool supervisor_state::is_process_gone() const { return parts_.process && parts_.process->has_ended(); }

supervisor_state::shortage supervisor_state::shortage_of(const caf::error& reason) {
  if (is_lack_of_memory_in_warm_up(reason)) return shortage::of_warm_up;
  return is_lack_of_memory(reason) ? shortage::of_requests : shortage::none;
}

bool supervisor_state::has_left_device(const msg::runner_missed& missed) const {
  if (is_process_gone()) return false;
  switch (runner_end_.lacked_memory) {
    case shortage::none:
      return false;
    case shortage::of_requests:
      return missed.runs_on;
    case shortage::of_warm_up:
      return smaller_cache().has_value();
  }
  return false;
}

// Whole tiles, as a cache on the CPU has.
std::int32_t supervisor_state::least_blocks() const {
  const std::int32_t tiles = blocks_for(parts_.limits.max_model_len, kernels::tile_tokens);
  return blocks_for(tiles * kernels::tile_tokens, layout_.block_size);
}

std::optional<std::int32_t> supervisor_state::smaller_cache() const {
  const std::int32_t given = blocks_of_device_ / share_given_at_once;
  const std::int32_t least = std::max(blocks_of_device_ - most_times_given * given, least_blocks());
  if (layout_.num_blocks <= least) return std::nullopt;
  return std::max(layout_.num_blocks - given, least);
}

// A device that gives less than it may has no more to give.
void supervisor_state::note_blocks_of_device(std::int32_t num_blocks) {
  if (most_blocks_ && num_blocks >= *most_blocks_) return;
  blocks_of_device_ = num_blocks;
  if (most_blocks_) most_blocks_ = num_blocks;
}

// No end that anybody counts, nor one that another runner has to get over.
void supervisor_state::pass_device_on() {
  if (runner_end_.lacked_memory == shortage::of_warm_up) {
    most_blocks_ = smaller_cache();
    if (const warm_up_item* item = course_.next())
      spdlog::warn("{} finds no memory on the device: the KV cache shrinks", describe(*item));
  }
  parts_.device = std::exchange(*left_behind_, {});
  runner_end_.is_excused = true;
  start_next_runner();
}

}  // namespace troupe
