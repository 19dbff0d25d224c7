// What people write, without what they write around it: "a, b".
#pragma once
#include <algorithm>
#include <string_view>

namespace troupe {

// Without the blanks, these characters, at both ends.
inline std::string_view without_blanks(std::string_view text, std::string_view blanks = " ") {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);  // npos + 1: 0
}

}  // namespace troupe
