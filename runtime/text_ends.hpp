// How a text that is not over may go on, and where its last word ends.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace troupe {

inline constexpr std::string_view white_space = " \t\r\n";

// How many bytes at the end of `text` may be the beginning of `what`; fewer than all of it.
inline std::size_t begun_at_end(std::string_view text, std::string_view what) {
  for (std::size_t bytes = std::min(text.size(), what.size() - 1); bytes > 0; --bytes)
    if (what.starts_with(text.substr(text.size() - bytes))) return bytes;
  return 0;
}

// The size of `text` without white space at its end.
inline std::size_t without_space_at_end(std::string_view text) {
  return text.find_last_not_of(white_space) + 1;  // npos + 1: 0
}

// How much white space `text` begins with: all of it where it has nothing else.
inline std::size_t space_at_start(std::string_view text) {
  return std::min(text.find_first_not_of(white_space), text.size());
}

}  // namespace troupe
