// The other grammars of a client. The first byte chooses which: 's' a JSON Schema, 't' a structural tag, 'c'
// a choice of lines, anything else a grammar in GBNF or Lark.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/held_to_grammar.hpp"

namespace {

using troupe::grammar_kind;

troupe::grammar_spec choice_of(std::string_view lines) {
  troupe::grammar_spec spec{.kind = grammar_kind::choice};
  for (std::size_t begin = 0; begin <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    spec.choices.emplace_back(lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return spec;
}

grammar_kind kind_of(char letter) {
  if (letter == 's') return grammar_kind::json_schema;
  return letter == 't' ? grammar_kind::structural_tag : grammar_kind::grammar;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(1);
  if (input[0] == 'c') {
    troupe::fuzz::hold_to(choice_of(text), text);
  } else {
    troupe::fuzz::hold_to({.kind = kind_of(input[0]), .text = std::string(text)}, text);
  }
  return 0;
}
