#include "main/json_dumps.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "runtime/grammar/json_schema/decimal.hpp"

namespace troupe::cli {
namespace {

using nlohmann::ordered_json;

// The shortest digits that read back the same; an exponent below 1e-4 and from 1e16 on.
std::string dumps_float(double value) {
  std::array<char, 400> buffer{};
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), end.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

void append(const ordered_json& value, std::string& out) {
  const char* separator = "";
  if (value.is_object()) {
    out += '{';
    for (const auto& [name, member] : value.items()) {
      out.append(separator).append(ordered_json(name).dump()).append(": ");
      append(member, out);
      separator = ", ";
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const ordered_json& item : value) {
      out += separator;
      append(item, out);
      separator = ", ";
    }
    out += ']';
  } else if (value.is_number_float()) {
    out += dumps_float(value.get<double>());
  } else if (value.is_binary()) {
    // Kept as it was written, which may have been with an exponent.
    out += to_text(json_schema::to_decimal(value));
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string json_dumps(const ordered_json& value) {
  std::string out;
  append(value, out);
  return out;
}

}  // namespace troupe::cli
