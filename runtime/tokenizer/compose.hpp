// Unicode's normalization form C: é for e and a combining accent, a syllable for its Hangul letters (UAX 15).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

// The text in NFC: `text` itself where it is that already, else what then stands in `room`. `text` is valid
// UTF-8. O(n log n), and next to nothing below U+0300.
std::string_view compose(std::string_view text, std::string& room);

// No text is longer than so many times its NFC: three letters of three bytes each are one Hangul syllable,
// and U+1FBE U+0308 U+0301, which are seven bytes, are U+0390, which is two.
inline constexpr std::size_t most_bytes_composed_to_one = 4;

}  // namespace troupe
