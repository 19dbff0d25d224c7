// How much more memory this process may use.
#pragma once
#include <cstdint>
#include <filesystem>

#include "runtime/result.hpp"

namespace troupe {

// Bytes that can be had without swapping: what the kernel calls available, or what the process's control
// groups (v2, v1) leave of their limits, whichever is less; a file cache that can be dropped counts as free.
// `root` stands for "/". Errors: io_error where the kernel does not say.
result<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

// Bytes that available_memory() comes to at most, however little others hold: the machine's memory, or the
// tightest limit of the process's control groups, whichever is less. Errors: as there.
result<std::uint64_t> total_memory(const std::filesystem::path& root = "/");

// Whether available_memory() is what a control group leaves, and not the machine.
bool is_memory_of_group(const std::filesystem::path& root = "/");

// Bytes of memory that this process holds and that no file stands behind; 0 where the kernel does not say.
std::uint64_t resident_memory(const std::filesystem::path& root = "/");

}  // namespace troupe
