// Sets of Unicode code points, as sorted ranges.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::grammar {

struct code_point_range {
  std::uint32_t first = 0, last = 0;  // both included
  friend bool operator==(const code_point_range&, const code_point_range&) = default;
};
// Sorted, apart by more than one, without surrogates, at most U+10FFFF.
using code_point_set = std::vector<code_point_range>;

// Sorts, merges, and drops what is no code point.
code_point_set normalized(std::vector<code_point_range> ranges);
code_point_set all_code_points();
code_point_set complement(const code_point_set& set);
code_point_set intersection(const code_point_set& a, const code_point_set& b);
bool contains(const code_point_set& set, std::uint32_t code_point);

// As Unicode's names are compared: without '_', '-' and ' ', in small letters.
std::string loose_name(std::string_view name);

// The general categories of Unicode by their short or long names ("L", "Lu", "Letter", "Uppercase_Letter"),
// and "Any", "ASCII", "Assigned", "White_Space", as utf8proc has them, compared by
// their loose names. Nothing: an unknown name; scripts and other properties are (unicode_properties.hpp).
std::optional<code_point_set> unicode_class(std::string_view name);

// The set with everything that has the same simple lower case of its upper case: K, k and the Kelvin sign.
code_point_set with_both_cases(const code_point_set& set);

// What a hexadecimal digit stands for; nothing for another character.
std::optional<std::uint32_t> hex_value(std::uint32_t c);

}  // namespace troupe::grammar
