// A regular expression of a client.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/held_to_grammar.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  troupe::fuzz::hold_to({.kind = troupe::grammar_kind::regex, .text = std::string(text)}, text);
  return 0;
}
