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

// Where a mark stands in a text that may go on, and what of the text is surely in front of it.
struct mark_search {
  std::size_t at = 0;    // npos: it is not there yet
  std::size_t told = 0;  // bytes: without white space before the mark, or what may become either
  bool found() const { return at != std::string_view::npos; }
};
inline mark_search look_for(std::string_view mark, std::string_view text) {
  const std::size_t at = text.find(mark);
  const std::size_t begun = at == std::string_view::npos ? begun_at_end(text, mark) : text.size() - at;
  return {at, without_space_at_end(text.substr(0, text.size() - begun))};
}

}  // namespace troupe
