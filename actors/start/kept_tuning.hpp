// The plans that a device runs by, as an earlier start has found them to be fastest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "runtime/executor/cpu/tuning_file.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Has `device` run by the plans that `file` keeps for the key; for how many row counts they are. Errors:
// those of read_tuning_file().
result<std::size_t> use_plans(executor& device, const tuning_key& key, const std::filesystem::path& file);
// Has `device` run by the plans that an earlier start has left in `file`. Whether there were any: no file, or
// one of another machine or model, is none; what is wrong with the file is a warning in the log.
bool use_kept_tuning(executor& device, const tuning_key& key, const std::filesystem::path& file);
// What the plans of this device are kept for.
tuning_key tuning_key_of(executor& device, std::int32_t threads);

}  // namespace troupe
