// What a request is held to, as the client gave it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/options.hpp"
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
  tool_calls,      // text: JSON, as runtime/grammar/notations/tool_calls.hpp says
};

// "json_schema", "json_object", ...
const char* to_string(grammar_kind kind);

struct grammar_spec {
  grammar_kind kind = grammar_kind::json_object;
  std::string text = {};
  std::vector<std::string> choices = {};
  json_schema::schema_options json = {};  // of the kinds that are JSON, and of tools and tags
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
