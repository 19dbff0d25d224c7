// The tensor section of a GGUF file: names, shapes, types and where the data lie.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/gguf/byte_reader.hpp"
#include "runtime/gguf/gguf.hpp"

namespace troupe::gguf {

inline constexpr std::uint64_t max_tensors = 1U << 16U;
inline constexpr std::uint64_t max_tensor_name_bytes = 64;  // the format's own limit

// A table entry as read, its data not yet located.
struct tensor_entry {
  tensor description;
  std::uint64_t offset = 0;  // from the start of the data section
  std::uint64_t bytes = 0;   // what shape and type ask for
};

// Reads `count` entries. Errors: corrupt_file (truncation, more than four dimensions, an empty dimension, a
// size that overflows, rows that are no whole blocks, a duplicate name), unsupported (an unknown type).
result<std::vector<tensor_entry>> read_tensor_table(byte_reader& reader, std::uint64_t count);

// Points every tensor at its bytes in `data` (the data section). Errors: corrupt_file for an offset off
// `alignment`, bytes outside the section, or two tensors that overlap.
result<std::vector<tensor>> locate_tensors(const std::vector<tensor_entry>& entries,
                                           std::span<const std::byte> data, std::uint64_t alignment);

}  // namespace troupe::gguf
