// JSON from strangers: parsed with limits on depth, number of values and members, so that a small body cannot
// become a large or slow document.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/json/json.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct json_limits {
  std::size_t max_depth = 1024;
  std::size_t max_values = 8U << 20U;  // numbers, literals, strings, arrays and objects together
  std::size_t max_large_values =
      1U << 20U;                        // strings, arrays, objects and member names: each is an allocation
  std::size_t max_members = 1U << 16U;  // of one object
};

// Where numbers that no machine type holds are kept as they are written, for kept_number(), and not made into
// doubles.
struct kept_numbers {
  bool everywhere = false;
  std::span<const std::string_view> members = {};  // within these of the outermost object
};

// The document, members in the order written; of members with the same name the last counts. Errors call the
// text `subject`, which stands in front of those that are of one of its values; a body is what is not named.
// Errors: invalid_argument for anything that is not strict JSON in UTF-8 (NaN, infinities and numbers beyond
// a double included; where numbers are kept, those too small for one as well; with the JSON pointer) and for
// a passed limit. Never recursive.
result<json> read_json(std::string_view text, const json_limits& limits = {}, const kept_numbers& kept = {},
                       std::string_view subject = {});

// A member's name as a JSON pointer has it (RFC 6901).
std::string escape_pointer(std::string_view name);

}  // namespace troupe
