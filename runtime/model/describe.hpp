// A GGUF file in words, for people.
#pragma once
#include <string>

#include "runtime/gguf/gguf.hpp"

namespace troupe {

// Several lines, ending in a newline: a summary, every metadata key (long texts and arrays abbreviated),
// every tensor with its shape (fastest-running dimension first), type and bytes, and totals by type. For any
// GGUF file, also one whose architecture or types are not served. Text of the file is shown with its control
// characters escaped.
std::string describe(const gguf::file& file);

}  // namespace troupe
