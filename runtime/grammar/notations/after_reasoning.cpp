#include "runtime/grammar/notations/after_reasoning.hpp"

#include "runtime/grammar/notations/structural_tag.hpp"
#include "runtime/text_ends.hpp"

namespace troupe::grammar {
namespace {

constexpr std::uint32_t most_space = 4;  // models write two line breaks

regex_id space(regex_store& regex) {
  byte_set blanks;
  for (const char blank : white_space) blanks.insert(static_cast<unsigned char>(blank));
  return regex.repeat(regex.bytes(blanks), 0, most_space);
}

}  // namespace

void put_after_reasoning(grammar_builder& builder, reasoning_start reasoning) {
  if (reasoning == reasoning_start::none || !builder.start()) return;
  regex_store& regex = builder.regex();
  builder.begin_after(reasoning);
  const regex_id closing = regex.literal(reasoning_marks::closing);
  const regex_id thought = regex.concat({text_up_to(regex, closing, closing), space(regex)});
  const symbol_id answer = *builder.start();
  if (reasoning == reasoning_start::begun)
    return builder.set_start(builder.sequence({builder.lexeme(thought, true), answer}));
  const regex_id opened = regex.concat({space(regex), regex.literal(reasoning_marks::opening), thought});
  builder.set_start(builder.choice({answer, builder.sequence({builder.lexeme(opened, true), answer})}));
}

}  // namespace troupe::grammar
