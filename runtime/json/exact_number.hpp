// Numbers of JSON that neither 64 bits nor a double hold as they are written: integers beyond 64 bits, and
// whatever has more than the 17 digits that tell doubles apart. Where they are to be kept (json_limits) their
// text becomes a value of the one type that JSON has no text for.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/json/json.hpp"

namespace troupe {

// Whether `text`, a number of JSON that is no integer of 64 bits and that `value` comes nearest to, says more
// than a double does: by its length, or as one of those numbers that are too large for doubles to have each
// whole one.
bool says_more_than_a_double(std::string_view text, double value);
// Whether `text` is zero, whatever its sign and exponent.
bool is_written_zero(std::string_view text);

// Longer texts are not kept: whoever works with one counts it as one number.
inline constexpr std::size_t longest_kept_number = 1024;
json keep_number(std::string_view text);
// What keep_number() kept; nothing for all other values.
std::optional<std::string_view> kept_number(const json& value);

// dump(), with kept numbers as they were written, and doubles by the shortest text that means them.
std::string dump_exactly(const json& value);

}  // namespace troupe
