#include "runtime/tokenizer/byte_level.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// All characters of the alphabet are below U+0144: one or two bytes.
std::string two_byte_utf8(unsigned code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0U | (code_point >> 6U)), static_cast<char>(0x80U | (code_point & 0x3FU))};
}

struct alphabet {
  std::array<std::string, 256> spellings;
  std::array<std::int16_t, 0x144> bytes{};  // [code point] -> byte, or -1

  alphabet() {
    bytes.fill(-1);
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const unsigned code_point = stands_for_itself(byte) ? byte : next++;
      spellings[byte] = two_byte_utf8(code_point);
      bytes[code_point] = static_cast<std::int16_t>(byte);
    }
  }
};

const alphabet& the_alphabet() {
  static const alphabet instance;
  return instance;
}

std::optional<char> byte_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  unsigned code_point = first;
  if (character.size() == 2) {
    code_point = (first & 0x1FU) << 6U | (static_cast<unsigned char>(character[1]) & 0x3FU);
  }
  const auto& bytes = the_alphabet().bytes;
  if (character.size() > 2 || code_point >= bytes.size() || bytes[code_point] < 0) return std::nullopt;
  return static_cast<char>(bytes[code_point]);
}

}  // namespace

const std::array<std::string, 256>& byte_spellings() { return the_alphabet().spellings; }

std::string spelled_bytes(std::string_view token_text) {
  std::string bytes;
  for (auto rest = token_text; !rest.empty();) {
    const auto unit = first_utf8_unit(rest);
    const auto byte =
        unit.what == utf8_unit::kind::character ? byte_of(rest.substr(0, unit.size)) : std::nullopt;
    if (!byte) return std::string(token_text);
    bytes += *byte;
    rest.remove_prefix(unit.size);
  }
  return bytes;
}

}  // namespace troupe
