#include "runtime/chat_template/searching.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::jinja {
namespace {

// Shorter ones are compared at every place: that is faster, as most places differ in the first character.
constexpr std::size_t long_from = 64;

// Knuth, Morris, Pratt: Fast pattern matching in strings (1977). The place in `text` behind the first
// `wanted`, which is not empty; 0: there is none.
template <class Iterator>
std::size_t end_of_first(Iterator text, std::size_t size, Iterator wanted, std::size_t wanted_size) {
  // For each part of `wanted` from its begin: how long the longest shorter one is that this one ends with.
  std::vector<std::uint32_t> shorter(wanted_size + 1, 0);
  const auto at = [&](std::size_t place) { return wanted[static_cast<std::ptrdiff_t>(place)]; };
  const auto extended = [&](std::size_t matched, char next) {
    while (matched > 0 && at(matched) != next) matched = shorter[matched];
    return at(matched) == next ? matched + 1 : 0;
  };
  for (std::size_t end = 1; end < wanted_size; ++end)
    shorter[end + 1] = static_cast<std::uint32_t>(extended(shorter[end], at(end)));
  std::size_t matched = 0;
  for (std::size_t place = 0; place < size; ++place) {
    matched = extended(matched, text[static_cast<std::ptrdiff_t>(place)]);
    if (matched == wanted_size) return place + 1;
  }
  return 0;
}

}  // namespace

std::size_t find_first(std::string_view text, std::string_view wanted, std::size_t from) {
  if (wanted.size() < long_from || from > text.size()) return text.find(wanted, from);
  const auto rest = text.substr(from);
  const auto end = end_of_first(rest.begin(), rest.size(), wanted.begin(), wanted.size());
  return end == 0 ? std::string_view::npos : from + end - wanted.size();
}

std::size_t find_last(std::string_view text, std::string_view wanted, std::size_t end) {
  text = text.substr(0, end);
  if (wanted.size() < long_from) return text.rfind(wanted);
  const auto from_back = end_of_first(text.rbegin(), text.size(), wanted.rbegin(), wanted.size());
  return from_back == 0 ? std::string_view::npos : text.size() - from_back;
}

std::size_t count_of(std::string_view text, std::string_view wanted) {
  std::size_t times = 0;
  for (auto at = find_first(text, wanted); at != std::string_view::npos;
       at = find_first(text, wanted, at + wanted.size()))
    ++times;
  return times;
}

}  // namespace troupe::jinja
