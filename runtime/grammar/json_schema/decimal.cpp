#include "runtime/grammar/json_schema/decimal.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace troupe::json_schema {
namespace {

void strip(decimal& number) {
  const std::size_t first = number.whole.find_first_not_of('0');
  number.whole.erase(0, first == std::string::npos ? number.whole.size() : first);
  if (number.whole.empty()) number.whole = "0";
  number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
  if (number.is_zero()) number.negative = false;
}

// `text` is d.ddde+xx, as std::to_chars writes it.
decimal from_scientific(std::string_view text) {
  decimal out;
  if (text.front() == '-') {
    out.negative = true;
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + e + 1;
  if (*digits == '+') ++digits;
  std::from_chars(digits, text.data() + text.size(), exponent);
  std::string mantissa(1, text.front());
  if (e > 2) mantissa += text.substr(2, e - 2);
  if (exponent < 0) {
    out.fraction = std::string(static_cast<std::size_t>(-exponent - 1), '0') + mantissa;
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (mantissa.size() < whole) mantissa.append(whole - mantissa.size(), '0');
    out.whole = mantissa.substr(0, whole);
    out.fraction = mantissa.substr(whole);
  }
  strip(out);
  return out;
}

int compare_magnitude(const decimal& a, const decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (const int by_whole = a.whole.compare(b.whole); by_whole != 0) return by_whole;
  return a.fraction.compare(b.fraction);
}

}  // namespace

decimal to_decimal(const json& number) {
  if (number.is_number_float()) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number.get<double>(),
                                   std::chars_format::scientific);
    return from_scientific({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
  }
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

int compare(const decimal& a, const decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const int magnitude = compare_magnitude(a, b);
  return a.negative ? -magnitude : magnitude;
}

}  // namespace troupe::json_schema
