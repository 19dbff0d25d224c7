// Lists that people write, "a, b".
#pragma once
#include <string_view>

namespace troupe {

// Without the spaces at both ends.
inline std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace troupe
