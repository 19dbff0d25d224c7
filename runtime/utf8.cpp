#include "runtime/utf8.hpp"

#include <utf8proc.h>

namespace troupe {
namespace {

struct lead_byte {
  std::size_t length = 0;                 // of the whole character; 0: no character begins so
  unsigned char low = 0x80, high = 0xBF;  // what the second byte may be
};

lead_byte classify(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

}  // namespace

utf8_unit first_utf8_unit(std::string_view bytes) {
  const auto at = [bytes](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  const auto lead = classify(at(0));
  if (lead.length == 0) return {utf8_unit::kind::invalid, 1};
  for (std::size_t index = 1; index < lead.length; ++index) {
    if (index == bytes.size()) return {utf8_unit::kind::incomplete, index};
    const unsigned char low = index == 1 ? lead.low : 0x80;
    const unsigned char high = index == 1 ? lead.high : 0xBF;
    if (at(index) < low || at(index) > high) return {utf8_unit::kind::invalid, index};
  }
  return {utf8_unit::kind::character, lead.length};
}

std::size_t valid_utf8_prefix(std::string_view bytes) {
  std::size_t position = 0;
  while (position < bytes.size()) {
    if (static_cast<unsigned char>(bytes[position]) < 0x80) {
      ++position;
      continue;
    }
    const auto unit = first_utf8_unit(bytes.substr(position));
    if (unit.what != utf8_unit::kind::character) break;
    position += unit.size;
  }
  return position;
}

void drain_utf8(std::string& pending, std::string& out) {
  std::string_view rest = pending;
  while (!rest.empty()) {
    const auto valid = valid_utf8_prefix(rest);
    out += rest.substr(0, valid);
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const auto unit = first_utf8_unit(rest);
    if (unit.what == utf8_unit::kind::incomplete) break;
    out += replacement_character;
    rest.remove_prefix(unit.size);
  }
  pending.erase(0, pending.size() - rest.size());
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string pending(bytes);
  std::string out;
  drain_utf8(pending, out);
  if (!pending.empty()) out += replacement_character;
  return out;
}

std::optional<sized_code_point> first_code_point(std::string_view bytes) {
  utf8proc_int32_t value = 0;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                                     static_cast<utf8proc_ssize_t>(bytes.size()), &value);
  if (size <= 0) return std::nullopt;
  return sized_code_point{static_cast<std::uint32_t>(value), static_cast<std::size_t>(size)};
}

void append_utf8(std::uint32_t code_point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t utf8_length(std::string_view bytes) {
  std::int64_t characters = 0;
  for (; !bytes.empty(); ++characters) bytes.remove_prefix(first_utf8_unit(bytes).size);
  return characters;
}

}  // namespace troupe
