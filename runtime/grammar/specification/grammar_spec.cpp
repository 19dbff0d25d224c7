#include "runtime/grammar/specification/grammar_spec.hpp"

namespace troupe {

const char* to_string(grammar_kind kind) {
  switch (kind) {
    case grammar_kind::json_schema:
      return "json_schema";
    case grammar_kind::json_object:
      return "json_object";
    case grammar_kind::regex:
      return "regex";
    case grammar_kind::choice:
      return "choice";
    case grammar_kind::grammar:
      return "grammar";
    case grammar_kind::structural_tag:
      return "structural_tag";
    case grammar_kind::tool_calls:
      return "tool_calls";
  }
  return "";
}

grammar_spec_ptr after_reasoning(grammar_spec_ptr spec, reasoning_start reasoning) {
  if (!spec || spec->reasoning == reasoning) return spec;
  grammar_spec after = *spec;
  after.reasoning = reasoning;
  return std::make_shared<const grammar_spec>(std::move(after));
}

std::size_t source_bytes(const grammar_spec& spec) {
  std::size_t bytes = spec.text.size();
  for (const std::string& choice : spec.choices) bytes += choice.size() + 1;
  return bytes;
}

std::size_t held_bytes(const grammar_spec& spec) {
  const std::size_t in_place = std::string().capacity();
  std::size_t bytes = spec.text.capacity();
  for (const auto* texts : {&spec.choices, &spec.warnings}) {
    bytes += texts->capacity() * sizeof(std::string);
    for (const std::string& text : *texts) bytes += text.capacity() > in_place ? text.capacity() : 0;
  }
  return bytes;
}

}  // namespace troupe
