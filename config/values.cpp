#include "config/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace troupe::config {
namespace {

struct unit {
  std::string_view name;  // lower case
  double scale;
};

constexpr double ki = 1024.0;
constexpr std::array size_units{unit{"", 1},
                                unit{"b", 1},
                                unit{"kib", ki},
                                unit{"mib", ki* ki},
                                unit{"gib", ki* ki* ki},
                                unit{"tib", ki* ki* ki* ki},
                                unit{"kb", 1e3},
                                unit{"mb", 1e6},
                                unit{"gb", 1e9},
                                unit{"tb", 1e12}};
constexpr std::array time_units{unit{"", 1e3},  unit{"s", 1e3},   unit{"ms", 1},
                                unit{"m", 6e4}, unit{"min", 6e4}, unit{"h", 3.6e6}};
constexpr std::array ratio_units{unit{"", 1e3}};
constexpr std::array<std::string_view, 4> on_words{"true", "on", "yes", "1"};
constexpr std::array<std::string_view, 4> off_words{"false", "off", "no", "0"};

constexpr double rounding = 1e-6;  // 0.07 * 1000 is not 70

// A non-negative decimal number, then a unit; the product must be a whole number.
std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const unit> units) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + end, number, std::chars_format::fixed);
  if (error != std::errc{} || stop != text.data() + end) return std::nullopt;
  std::string_view rest = text.substr(end);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const std::string name = lower(rest);
  const auto found = std::find_if(units.begin(), units.end(), [&](const unit& u) { return u.name == name; });
  if (found == units.end()) return std::nullopt;
  const double product = number * found->scale;
  if (!(product < 9e15) || std::abs(product - std::round(product)) > rounding) return std::nullopt;
  return std::llround(product);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> parse_size(std::string_view text) { return parse_with_unit(text, size_units); }

std::optional<std::int64_t> parse_duration(std::string_view text) {
  return parse_with_unit(text, time_units);
}

std::optional<std::int64_t> parse_ratio(std::string_view text) { return parse_with_unit(text, ratio_units); }

std::optional<std::int64_t> parse_switch(std::string_view text) {
  const std::string word = lower(text.substr(0, 8));
  if (text.size() <= word.size() && std::ranges::find(on_words, word) != on_words.end()) return 1;
  if (text.size() <= word.size() && std::ranges::find(off_words, word) != off_words.end()) return 0;
  return std::nullopt;
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 4> units{
      {{1ULL << 40U, "TiB"}, {1ULL << 30U, "GiB"}, {1ULL << 20U, "MiB"}, {1ULL << 10U, "KiB"}}};
  for (const auto& [scale, name] : units) {
    if (bytes != 0 && bytes % scale == 0) return std::to_string(bytes / scale) + name;
  }
  return std::to_string(bytes) + "B";
}

std::string duration_text(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + "s" : std::to_string(count) + "ms";
}

std::string ratio_text(std::int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  if (thousandths % 1000 == 0) return text;
  text += "." + std::to_string(1000 + thousandths % 1000).substr(1);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

std::string shown(std::string_view text) {
  constexpr std::size_t limit = 64;
  std::string out;
  for (const char c : text.substr(0, limit)) out += c >= ' ' && c != '\x7f' ? c : '?';
  return text.size() > limit ? out + "..." : out;
}

}  // namespace troupe::config
