#include "main/json_dumps.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "runtime/grammar/json_schema/numbers/decimal.hpp"
#include "runtime/json/exact_number.hpp"

namespace troupe::cli {
namespace {

// The shortest digits that read back the same.
std::string dumps_float(double value) {
  if (const auto text = json_schema::scientific_text(value)) return *text;
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  std::string text(buffer.data(), end.ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

// A number that does not fit: whole ones stay as they are, others are doubles to Python.
std::string dumps_kept(std::string_view text) {
  return text.find_first_of(".eE") == std::string_view::npos
             ? std::string(text)
             : dumps_float(std::strtod(std::string(text).c_str(), nullptr));
}

void append(const json& value, json_spacing spacing, std::string& out) {
  const char* const between = spacing == json_spacing::none ? "," : ", ";
  const char* separator = "";
  if (value.is_object()) {
    out += '{';
    for (const auto& [name, member] : value.items()) {
      out.append(separator).append(json(name).dump()).append(spacing == json_spacing::none ? ":" : ": ");
      append(member, spacing, out);
      separator = between;
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const json& item : value) {
      out += separator;
      append(item, spacing, out);
      separator = between;
    }
    out += ']';
  } else if (value.is_number_float()) {
    out += dumps_float(value.get<double>());
  } else if (value.is_binary()) {
    out += dumps_kept(*kept_number(value));
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string json_dumps(const json& value, json_spacing spacing) {
  std::string out;
  append(value, spacing, out);
  return out;
}

}  // namespace troupe::cli
