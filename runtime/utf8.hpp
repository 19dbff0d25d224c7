// Where characters begin and end in bytes that may not be UTF-8 (Unicode 15, table 3-7; "maximal subpart"
// replacement as in section 3.9 and the WHATWG encoding standard).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

struct utf8_unit {
  enum class kind {
    character,   // one whole, valid character
    incomplete,  // all that is left, and the beginning of a character
    invalid,     // bytes that no continuation makes a character: one U+FFFD stands for them
  };
  kind what = kind::character;
  std::size_t size = 0;  // bytes, at least 1
};

// The first unit of `bytes`, which must not be empty.
utf8_unit first_utf8_unit(std::string_view bytes);

// The length of the longest valid prefix.
std::size_t valid_utf8_prefix(std::string_view bytes);

// Moves what is decided from `pending` to the end of `out`: characters as they are, invalid bytes as U+FFFD.
// An unfinished character stays in `pending`.
void drain_utf8(std::string& pending, std::string& out);

// The text with U+FFFD for everything that is not a character.
std::string replace_invalid_utf8(std::string_view bytes);

struct sized_code_point {
  std::uint32_t value = 0;
  std::size_t size = 0;  // bytes, 1 to 4
};
// The character that `bytes` begin with; nothing where they are empty or do not begin with one.
std::optional<sized_code_point> first_code_point(std::string_view bytes);

// Appends a code point of at most U+10FFFF.
void append_utf8(std::uint32_t code_point, std::string& out);

// Characters in `bytes`, each U+FFFD that replace_invalid_utf8() would put included.
std::int64_t utf8_length(std::string_view bytes);

}  // namespace troupe
