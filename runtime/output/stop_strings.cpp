#include "runtime/output/stop_strings.hpp"

#include <algorithm>

#include "runtime/utf8.hpp"

namespace troupe {

stop_strings::stop_strings(const std::vector<std::string>& strings) {
  for (const auto& string : strings) {
    if (string.empty() || valid_utf8_prefix(string) != string.size()) continue;
    auto& made = automata_.emplace_back();
    made.string = string;
    made.fallback.assign(string.size() + 1, 0);
    std::uint32_t length = 0;
    for (std::size_t at = 1; at < string.size(); ++at) {
      while (length > 0 && string[at] != string[length]) length = made.fallback[length];
      if (string[at] == string[length]) ++length;
      made.fallback[at + 1] = length;
    }
  }
}

bool stop_strings::automaton::step(char byte) {
  if (matched == string.size()) matched = fallback[matched];
  while (matched > 0 && string[matched] != byte) matched = fallback[matched];
  if (string[matched] == byte) ++matched;
  return matched == string.size();
}

std::optional<stop_strings::match> stop_strings::push(std::string_view text, bool obey) {
  for (std::size_t at = 0; at < text.size() && !automata_.empty(); ++at) {
    std::optional<match> found;
    for (auto& one : automata_) {
      const bool complete = one.step(text[at]);
      if (complete && obey && (!found || one.string.size() > found->string.size()))
        found = match{at + 1, one.string};
    }
    if (found) return found;
  }
  return std::nullopt;
}

std::size_t stop_strings::held_back() const {
  std::size_t most = 0;
  for (const auto& one : automata_) {
    most = std::max<std::size_t>(most,
                                 one.matched == one.string.size() ? one.fallback[one.matched] : one.matched);
  }
  return most;
}

}  // namespace troupe
