// The shape of UTF-8 (Unicode 15, table 3-7: well-formed byte sequences).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::openai {

// Bytes of the character at the front of `text`, 1 to 4; 0 where no well-formed character stands there.
inline std::size_t utf8_character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  const std::size_t length = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  // Overlong forms, surrogates and code points past U+10FFFF show in the second byte.
  const bool bad = (lead == 0xE0U && byte(1) < 0xA0U) || (lead == 0xEDU && byte(1) > 0x9FU) ||
                   (lead == 0xF0U && byte(1) < 0x90U) || (lead == 0xF4U && byte(1) > 0x8FU);
  return bad ? 0 : length;
}

// Characters in `text`; a byte that belongs to none counts as one.
inline std::int64_t utf8_length(std::string_view text) {
  std::int64_t characters = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_character_length(text);
    text.remove_prefix(length == 0 ? 1 : length);
    ++characters;
  }
  return characters;
}

}  // namespace troupe::openai
