#include "runtime/json/json_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

void append_escaped(std::string& out, char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(byte));
  }
}

bool is_plain(unsigned char byte) { return byte >= 0x20U && byte < 0x80U && byte != '"' && byte != '\\'; }

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_plain(static_cast<unsigned char>(text[end]))) ++end;
    out.append(text, at, end - at);
    if (end == text.size()) break;
    at = end;
    if (static_cast<unsigned char>(text[at]) < 0x80U) {
      append_escaped(out, text[at++]);
    } else {
      const utf8_unit unit = first_utf8_unit(text.substr(at));
      const bool valid = unit.what == utf8_unit::kind::character;
      out += valid ? text.substr(at, unit.size) : replacement_character;
      at += unit.size;
    }
  }
  out += '"';
}

json_writer& json_writer::key(std::string_view name) {
  string(name);
  out_ += ':';
  return *this;
}

json_writer& json_writer::string(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

json_writer& json_writer::integer(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

json_writer& json_writer::number(float value) {
  if (!std::isfinite(value)) return null();
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

json_writer& json_writer::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

json_writer& json_writer::null() {
  separate();
  out_ += "null";
  return *this;
}

json_writer& json_writer::raw(std::string_view text) {
  if (text.empty()) return *this;
  separate();
  out_ += text;
  return *this;
}

json_writer& json_writer::open(char bracket) {
  separate();
  out_ += bracket;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ += bracket;
  return *this;
}

void json_writer::separate() {
  if (out_.size() == start_) return;
  const char before = out_.back();
  if (before != '{' && before != '[' && before != ':') out_ += ',';
}

}  // namespace troupe
