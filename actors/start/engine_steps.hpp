// Which steps a device runs, and how: what its warm-up works through, from the start of the engine to the
// supervisor.
#pragma once
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/executor/cpu/tuning_file.hpp"
#include "runtime/executor/pad_batch.hpp"

namespace troupe {

struct engine_steps {
  bucket_plan buckets = {};  // what steps are rounded up to, or counted by
  bool pad_to_buckets = false;
  padded_limits padded = {};  // the largest step of the device, where that is more than is planned; else 0
  std::vector<std::int32_t> graphs =
      {};  // rows of the decodes that the device captures, before somebody waits
  // Whether the device's plans are to be chosen, but for steps of so many rows; what for, and where they are
  // kept.
  bool tune = false;
  std::set<std::int32_t> tuned = {};
  tuning_key tuned_for = {};
  std::filesystem::path tuning_file = {};
};

}  // namespace troupe
