#include "runtime/grammar/json_schema/numbers/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "runtime/json/exact_number.hpp"

namespace troupe::json_schema {
namespace {

void strip(decimal& number) {
  const std::size_t first = number.whole.find_first_not_of('0');
  number.whole.erase(0, first == std::string::npos ? number.whole.size() : first);
  if (number.whole.empty()) number.whole = "0";
  number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
  if (number.is_zero()) number.negative = false;
}

// `text` is a number of JSON that a double is not far from, so that its exponent is bounded by its length.
decimal from_text(std::string_view text) {
  decimal out;
  out.negative = text.front() == '-';
  if (out.negative) text.remove_prefix(1);
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  int exponent = 0;
  std::string_view digits = text.substr(std::min(mantissa.size() + 1, text.size()));
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  const std::size_t point = mantissa.find('.');
  out.whole = mantissa.substr(0, point);
  if (point != std::string_view::npos) out.fraction = mantissa.substr(point + 1);
  const auto shift = static_cast<std::size_t>(std::abs(exponent));
  std::string& from = exponent < 0 ? out.whole : out.fraction;
  if (from.size() < shift) from.insert(exponent < 0 ? 0 : from.size(), shift - from.size(), '0');
  if (exponent < 0) {
    out.fraction.insert(0, out.whole, out.whole.size() - shift);
    out.whole.erase(out.whole.size() - shift);
  } else {
    out.whole.append(out.fraction, 0, shift);
    out.fraction.erase(0, shift);
  }
  strip(out);
  return out;
}

// With an exponent, and the fewest digits that read back the same.
std::string shortest_text(double number) {
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific);
  return {buffer.data(), end.ptr};
}

double nearest_double(const decimal& number) { return std::strtod(to_text(number).c_str(), nullptr); }

int compare_magnitude(const decimal& a, const decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (const int by_whole = a.whole.compare(b.whole); by_whole != 0) return by_whole;
  return a.fraction.compare(b.fraction);
}

}  // namespace

bool is_number(const json& value) { return value.is_number() || kept_number(value); }

decimal to_decimal(const json& number) {
  if (const auto text = kept_number(number)) return from_text(*text);
  if (number.is_number_float()) return from_text(shortest_text(number.get<double>()));
  decimal out;
  if (number.is_number_unsigned()) {
    out.whole = std::to_string(number.get<std::uint64_t>());
  } else {
    out.whole = std::to_string(number.get<std::int64_t>());
    if (out.whole.front() == '-') {
      out.negative = true;
      out.whole.erase(0, 1);
    }
  }
  strip(out);
  return out;
}

bool is_a_double(const decimal& whole) {
  constexpr std::size_t digits_of_2_to_the_53rd = 16, digits_of_the_largest = 309;
  if (whole.whole.size() < digits_of_2_to_the_53rd) return true;
  if (whole.whole.size() > digits_of_the_largest) return false;
  const double read = std::strtod(whole.whole.c_str(), nullptr);
  return std::isfinite(read) && fmt::format("{:.0f}", read) == whole.whole;
}

std::optional<decimal> next_double(const decimal& number, bool upwards) {
  const double read = nearest_double(number);
  if (!(std::abs(read) < 0x1p53)) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return to_decimal(json(std::nextafter(read, upwards ? infinity : -infinity)));
}

std::string to_text(const decimal& number) {
  return (number.negative ? "-" : "") + number.whole + (number.is_integer() ? "" : "." + number.fraction);
}

std::optional<std::string> scientific_text(double number) {
  const double size = std::abs(number);
  if (size == 0 || !std::isfinite(number) || (size >= 1e-4 && size < 1e16)) return std::nullopt;
  return shortest_text(number);
}

std::optional<std::string> scientific_text(const decimal& number) {
  auto text = scientific_text(nearest_double(number));
  return text && compare(from_text(*text), number) == 0 ? text : std::nullopt;
}

int compare(const decimal& a, const decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const int magnitude = compare_magnitude(a, b);
  return a.negative ? -magnitude : magnitude;
}

}  // namespace troupe::json_schema
