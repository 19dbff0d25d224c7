#include "config/reference.hpp"

#include <variant>

#include "config/options.hpp"

namespace troupe::config {
namespace {

// A value inside a table's cell.
std::string code(const std::string& text) { return text.empty() ? std::string() : "`" + text + "`"; }

std::string cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.insert(i, "\\");
  return text;
}

std::string flags_of(const option& which) {
  std::string text = code(which.flag());
  for (const std::string_view alias : which.aliases) text += ", " + code(flag_of(alias));
  return text;
}

std::string variables_of(const option& which) {
  const std::string common = code(std::string(which.common_variable));
  return code(which.variable()) + (common.empty() ? "" : ", ") + common;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (byte < 0x20 || byte == 0x7f) {
      static constexpr const char* digits = "0123456789abcdef";
      out += std::string("\\u00") + digits[byte >> 4U] + digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string options_markdown() {
  const settings defaults;
  std::string out = "| flag | variable | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const option& which : options()) {
    out += "| " + flags_of(which) + " | " + variables_of(which) + " | " + code(value_text(defaults, which)) +
           " | " + cell(which.range()) + " | " + cell(std::string(which.help)) + " |\n";
  }
  return out;
}

std::string settings_toml(const loaded_settings& loaded) {
  std::string out;
  for (const option& which : options()) {
    const std::string text = value_text(loaded.values, which);
    const bool bare =
        which.is_switch() || std::holds_alternative<std::int32_t settings::*>(which.member) ||
        std::holds_alternative<double settings::*>(which.member) ||
        (std::holds_alternative<std::optional<std::int32_t> settings::*>(which.member) && text != "auto");
    const auto origin = loaded.origins.find(which.name);
    out += std::string(which.name) + " = " + (bare ? text : quoted(text)) + "  # " +
           (origin == loaded.origins.end() ? "default" : origin->second) + "\n";
  }
  return out;
}

}  // namespace troupe::config
