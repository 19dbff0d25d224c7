#include "runtime/json/exact_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/json/json_writer.hpp"

namespace troupe {
namespace {

constexpr std::size_t digits_of_a_double = 17;        // tell each from the others
constexpr std::size_t digits_that_doubles_keep = 15;  // come out of a double as they went in
constexpr double doubles_have_all_below = 0x1p53;     // whole numbers
constexpr std::string_view nonzero = "123456789";

std::string_view mantissa_of(std::string_view text) { return text.substr(0, text.find_first_of("eE")); }

bool has_own_numbers(const json& value) {
  if (value.is_binary() || value.is_number_float()) return true;
  return value.is_structured() && std::any_of(value.begin(), value.end(), has_own_numbers);
}

// The fewest digits that are this double and no other, with a point or an exponent. What json::dump() writes
// has more at times: 4.9999999999999996e+22 for 5e22. Without an exponent to_chars writes every digit of a
// large whole number.
void append(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";  // as dump() has it
    return;
  }
  std::array<char, 32> text;
  char* const limit = text.data() + text.size();
  const bool is_large = std::abs(value) >= doubles_have_all_below;
  const char* const end = is_large
                              ? std::to_chars(text.data(), limit, value, std::chars_format::scientific).ptr
                              : std::to_chars(text.data(), limit, value).ptr;
  const std::string_view written(text.data(), static_cast<std::size_t>(end - text.data()));
  out += written;
  if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append(const json& value, std::string& out) {
  const char* separator = "";
  if (const auto number = kept_number(value)) {
    out += *number;
  } else if (value.is_number_float()) {
    append(value.get<double>(), out);
  } else if (value.is_array()) {
    out += '[';
    for (const json& item : value) {
      out += std::exchange(separator, ",");
      append(item, out);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (const auto& [name, member] : value.items()) {
      out += std::exchange(separator, ",");
      append_json_string(out, name);
      out += ':';
      append(member, out);
    }
    out += '}';
  } else {
    out += value.dump();
  }
}

}  // namespace

bool is_written_zero(std::string_view text) {
  return mantissa_of(text).find_first_of(nonzero) == std::string_view::npos;
}

bool says_more_than_a_double(std::string_view text, double value) {
  const std::string_view mantissa = mantissa_of(text);
  const bool is_integer = mantissa.size() == text.size() && text.find('.') == std::string_view::npos;
  if (is_integer || is_written_zero(text)) return is_integer;
  const std::size_t first = mantissa.find_first_of(nonzero);
  const std::size_t last = mantissa.find_last_of(nonzero);
  const bool has_point = mantissa.substr(first, last - first).find('.') != std::string_view::npos;
  const std::size_t digits = last - first + 1 - (has_point ? 1 : 0);
  return digits > (std::abs(value) < doubles_have_all_below ? digits_of_a_double : digits_that_doubles_keep);
}

json keep_number(std::string_view text) {
  return json::binary(std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::optional<std::string_view> kept_number(const json& value) {
  if (!value.is_binary()) return std::nullopt;
  const std::vector<std::uint8_t>& bytes = value.get_binary();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string dump_exactly(const json& value) {
  if (!has_own_numbers(value)) return value.dump();
  std::string out;
  append(value, out);
  return out;
}

}  // namespace troupe
