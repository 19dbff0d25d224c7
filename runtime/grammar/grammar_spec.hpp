// What a request is held to, as the client gave it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/reasoning.hpp"

namespace troupe {

// vLLM's names, and tool_calls.
enum class grammar_kind {
  json_schema,     // text: a JSON Schema
  json_object,     // any JSON object
  regex,           // text: an expression that matches from end to end
  choice,          // one of `choices`
  grammar,         // text: GBNF, or Lark where the first rule has no "::="
  structural_tag,  // text: JSON, as docs/grammar.md says
  tool_calls,      // text: JSON, as runtime/grammar/tool_calls.hpp says
};

// "json_schema", "json_object", ...
const char* to_string(grammar_kind kind);

struct grammar_spec {
  grammar_kind kind = grammar_kind::json_object;
  std::string text = {};
  std::vector<std::string> choices = {};
  // Of JSON: at most so many characters of white space before any lexeme, 0 for compact texts; whether
  // members stand in the order of `properties`, whole numbers have neither point nor exponent, and objects no
  // members but those that are named (json_schema::schema_options).
  std::uint32_t max_white_space = 24;
  bool fixed_order = false;
  bool plain_integers = false;
  bool closed_objects = false;
  // Whether all of this is said of what follows the model's reasoning.
  reasoning_start reasoning = reasoning_start::none;
  // What its author should know of it, though it is served: told with the answer.
  std::vector<std::string> warnings = {};

  friend bool operator==(const grammar_spec&, const grammar_spec&) = default;
};
using grammar_spec_ptr = std::shared_ptr<const grammar_spec>;

// The same, of an answer that reasons first. `spec` may be null, for no grammar, as what is returned then.
grammar_spec_ptr after_reasoning(grammar_spec_ptr spec, reasoning_start reasoning);

// How many bytes a client sent for it.
std::size_t source_bytes(const grammar_spec& spec);

// How many bytes of memory its texts take.
std::size_t held_bytes(const grammar_spec& spec);

}  // namespace troupe
