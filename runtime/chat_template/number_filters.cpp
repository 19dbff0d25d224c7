// Filters that make numbers, or other numbers.
#include "runtime/chat_template/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "runtime/chat_template/characters.hpp"

namespace troupe::jinja {
namespace {

using v = const value&;
using a = const arguments&;

// int(text, base), as far as 64 bits go; base 0 goes by the prefix.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t base) {
  auto digits = strip(text, side::both);
  const bool sign = !digits.empty() && (digits[0] == '-' || digits[0] == '+');
  std::string plain(digits.substr(0, sign && digits[0] == '-' ? 1 : 0));
  if (sign) digits.remove_prefix(1);
  static constexpr std::pair<char, int> prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
  for (const auto& [letter, meant] : prefixes) {
    const bool here = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == letter;
    if (!here || (base != 0 && base != meant)) continue;
    base = meant;
    digits.remove_prefix(2);
    break;
  }
  if (base == 0) base = 10;
  if (digits.empty() || digits[0] == '-') return std::nullopt;
  plain += digits;
  std::int64_t number = 0;
  const auto* const end = plain.data() + plain.size();
  const auto [read_to, failure] = std::from_chars(plain.data(), end, number, static_cast<int>(base));
  return failure == std::errc() && read_to == end ? std::optional(number) : std::nullopt;
}

value to_integer(budget& spent, v input, a given) {
  const auto fallback = given.find(0) ? *given.find(0) : value::of(std::int64_t{0});
  const auto base = given.integer(spent, 1).value_or(10);
  if (base != 0 && (base < 2 || base > 36)) return spent.fail("int: the base must be 0 or from 2 to 36");
  if (const auto whole = input.integer()) return value::of(*whole);
  if (input.get<large_integer>()) return input;
  double number = 0;
  if (const auto* text = input.string()) {
    if (const auto whole = whole_number(*text, base)) return value::of(*whole);
    const auto digits = strip(*text, side::both);
    const auto* const end = digits.data() + digits.size();
    const auto [read_to, failure] = std::from_chars(digits.data(), end, number);
    if (failure != std::errc() || read_to != end) return fallback;
  } else if (const auto* real = input.get<double>()) {
    number = *real;
  } else {
    return fallback;
  }
  if (!(std::abs(number) < 9e18)) return spent.fail("a number gets too large");
  return value::of(static_cast<std::int64_t>(number));
}

value to_real(budget&, v input, a given) {
  if (const auto number = input.number()) return value(value::variant(*number));
  double number = 0;
  if (const auto* text = input.string()) {
    const auto digits = strip(*text, side::both);
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure == std::errc() && end == digits.data() + digits.size()) return value(value::variant(number));
  }
  const auto* otherwise = given.find(0);
  return otherwise ? *otherwise : value(value::variant(0.0));
}

value absolute(budget& spent, v input, a) {
  if (const auto whole = input.integer()) {
    return *whole == INT64_MIN ? spent.fail("a number gets too large") : value::of(std::abs(*whole));
  }
  if (const auto* large = input.get<large_integer>())
    return value::large(large->digits->substr(large->digits->starts_with('-') ? 1 : 0));
  const auto number = input.number();
  return number ? value(value::variant(std::abs(*number))) : spent.fail("abs takes a number");
}

// round(x, places) as Python has it: to the even one where both are as near.
double rounded(double number, std::int64_t places) {
  if (places < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-places));
    return std::isinf(unit) ? std::copysign(0.0, number) : std::nearbyint(number / unit) * unit;
  }
  const auto text = fmt::format("{:.{}f}", number, places);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

value round(budget& spent, v input, a given) {
  const auto places = std::clamp<std::int64_t>(given.integer(spent, 0).value_or(0), -400, 400);
  const auto* method = given.text(spent, 1);
  const auto number = input.number();
  if (!number) return spent.fail("round takes a number");
  if (!method || *method == "common") {
    if (input.get<large_integer>()) return places >= 0 ? input : spent.fail("a number gets too large");
    if (input.integer() && places >= 0) return value::of(*input.integer());
    const double out = rounded(*number, places);
    return input.integer() && std::abs(out) < 9e18 ? value::of(static_cast<std::int64_t>(out))
                                                   : value(value::variant(out));
  }
  if (*method != "ceil" && *method != "floor")
    return spent.fail("round: the method must be 'common', 'ceil' or 'floor'");
  const double unit = std::pow(10.0, static_cast<double>(places));
  const double scaled = *number * unit;
  if (unit == 0 || !std::isfinite(scaled)) return spent.fail("a number gets too large");
  return value(value::variant((*method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit));
}

}  // namespace

const filters& number_filters() {
  static const filters all = {{"int", {to_integer, "default base"}},
                              {"float", {to_real, "default"}},
                              {"abs", {absolute}},
                              {"round", {round, "precision method"}}};
  return all;
}

}  // namespace troupe::jinja
