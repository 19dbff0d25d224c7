// The key-value section of a GGUF file.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>

#include "runtime/gguf/byte_reader.hpp"
#include "runtime/gguf/gguf.hpp"

namespace troupe::gguf {

// What a header may hold at most, beyond what its own bytes pay for. Real models stay far below: a vocabulary
// of 262,144 tokens makes some 1.5 million array elements and 40 keys.
inline constexpr std::uint64_t max_metadata_keys = 1U << 16U;
inline constexpr std::uint64_t max_key_bytes = 65'535;  // the format's own limit
inline constexpr std::uint64_t max_string_bytes = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t max_array_elements = std::uint64_t{1} << 24U;  // all arrays of a file together

using metadata_map = std::map<std::string_view, value>;

// Reads `count` pairs. Errors: corrupt_file (truncation, a duplicate key, a length beyond the bytes left, a
// value kind that does not exist), unsupported (an array of arrays); the message names the key.
result<metadata_map> read_metadata(byte_reader& reader, std::uint64_t count);

}  // namespace troupe::gguf
