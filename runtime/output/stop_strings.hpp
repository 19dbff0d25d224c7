// Finds stop strings in a text that comes in pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// One Knuth-Morris-Pratt automaton per string: every byte is looked at once, however the text is cut and
// however the strings overlap.
class stop_strings {
 public:
  // Strings that are empty or not UTF-8 can never stand in a text and are left out.
  explicit stop_strings(const std::vector<std::string>& strings);

  struct match {
    std::size_t end = 0;  // in the text given to push(), past the last byte of the stop string
    std::string_view string;
  };
  // Reads on. The first place where a stop string is complete; of several there, the longest. Reading stops
  // there. obey = false: the strings that end in `text` do not count.
  std::optional<match> push(std::string_view text, bool obey);

  // How many bytes at the end of all that was read may be the beginning of a stop string.
  std::size_t held_back() const;
  bool empty() const { return automata_.empty(); }

 private:
  struct automaton {
    std::string string;
    std::vector<std::uint32_t>
        fallback;             // [string + 1]: the longest proper prefix that is also a suffix of this prefix
    std::size_t matched = 0;  // bytes of the string that the text ends with
    bool step(char byte);     // true: the string is complete
  };
  std::vector<automaton> automata_;
};

}  // namespace troupe
