// Strings as Python sees them: sequences of code points. Bytes that are no UTF-8 count as one character each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/utf8.hpp"

namespace troupe::jinja {

std::uint32_t code_point_of(std::string_view character);

// f(character, code point), in order.
template <class F>
void for_each_character(std::string_view text, F f) {
  while (!text.empty()) {
    const auto character = text.substr(0, first_utf8_unit(text).size);
    f(character, code_point_of(character));
    text.remove_prefix(character.size());
  }
}

std::vector<std::string_view> characters(std::string_view text);
std::size_t count_characters(std::string_view text);
std::string_view first_characters(std::string_view text, std::size_t most);

bool is_white_space(std::uint32_t code_point);     // str.isspace()
bool is_alphabetic(std::uint32_t code_point);      // str.isalpha()
bool is_word_character(std::uint32_t code_point);  // \w of regular expressions
enum class side { left, right, both };
// str.strip(); empty `drop`: white space.
std::string_view strip(std::string_view text, side where, std::string_view drop = {});

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string fold_case(std::string_view text);  // str.casefold()
std::string capitalize(std::string_view text);
// str.title() starts a word after anything that is no letter; Jinja's filter only after white space and
// brackets, with str.upper().
std::string title(std::string_view text, bool filter);
std::string replace_all(std::string_view text, std::string_view from, std::string_view to, std::int64_t most);

}  // namespace troupe::jinja
