// The spelling of bytes in byte-level vocabularies: every byte is written as one printable character
// (GPT-2's bytes_to_unicode, https://github.com/openai/gpt-2/blob/master/src/encoder.py).
#pragma once
#include <array>
#include <string>
#include <string_view>

namespace troupe {

// [byte] -> the UTF-8 of the character that stands for it.
const std::array<std::string, 256>& byte_spellings();

// The bytes that a token's text spells. Text with a character outside the alphabet stands for itself.
std::string spelled_bytes(std::string_view token_text);

}  // namespace troupe
