// What a warm-up has found out about plans, kept for the next start: one small JSON file for each machine and
// model.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "runtime/executor/cpu/step_plan.hpp"
#include "runtime/result.hpp"

namespace troupe {

// What the plans are true for.
struct tuning_key {
  std::string cpu;          // its name
  std::string kernel_path;  // "avx512vnni"
  std::int32_t threads = 0;
  std::string shape;  // step_plans::shape()

  friend bool operator==(const tuning_key&, const tuning_key&) = default;
};

// To be raised with every change of a kernel or of what a plan means: older files are then measured anew.
inline constexpr std::int32_t kernel_version = 2;

using tuned_plans = std::map<std::int32_t, step_plan>;  // by rows

// "tuning-0123456789abcdef.json": one for each key.
std::string tuning_file_name(const tuning_key& key);

// Where the plans of the key are kept: in `file` where that is given, else in the key's own of `folder`;
// empty where neither is given.
std::filesystem::path tuning_path(const tuning_key& key, const std::filesystem::path& file,
                                  const std::filesystem::path& folder);

// Reads at most 64 KiB and believes nothing of it unchecked. Errors: not_found (no file), corrupt_file (not
// such a file, or damaged), unsupported (of another key or version), io_error.
result<tuned_plans> read_tuning_file(const std::filesystem::path& file, const tuning_key& key);

// Makes the folder where it is missing, writes beside the file and renames: a reader finds the old one or the
// new one. Something that is no tuning file is not replaced. Errors: io_error, corrupt_file (that case).
result<void> write_tuning_file(const std::filesystem::path& file, const tuning_key& key,
                               const tuned_plans& plans);

}  // namespace troupe
