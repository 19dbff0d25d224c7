// Text from a file made safe to show: a hostile name cannot break a line or drive a terminal.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::gguf {

// Valid UTF-8 stays, control characters and invalid bytes become \n, \t or \xNN; what passes `limit` bytes of
// the source is cut at a character and marked "...".
std::string printable(std::string_view text, std::size_t limit = 80);

}  // namespace troupe::gguf
