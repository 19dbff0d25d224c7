#include "runtime/grammar/grammar_spec.hpp"

#include <fmt/format.h>

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
  }
  return "";
}

std::size_t source_bytes(const grammar_spec& spec) {
  std::size_t bytes = spec.text.size();
  for (const std::string& choice : spec.choices) bytes += choice.size() + 1;
  return bytes;
}

std::string key_of(const grammar_spec& spec) {
  std::string key = fmt::format("{} {} {} {} ", to_string(spec.kind), spec.max_white_space, spec.fixed_order,
                                spec.text.size());
  key.reserve(key.size() + source_bytes(spec) + 8 * spec.choices.size());
  key += spec.text;
  for (const std::string& choice : spec.choices) {
    key += fmt::format("{} ", choice.size());
    key += choice;
  }
  return key;
}

}  // namespace troupe
