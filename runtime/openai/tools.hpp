// OpenAI's `tools`, `tool_choice` and `parallel_tool_calls`: the functions that a model may ask its client to
// call.
#pragma once
#include "runtime/grammar/specification/grammar_spec.hpp"
#include "runtime/openai/field_reader.hpp"

namespace troupe::openai {

struct tool_use {
  json offered = nullptr;         // the array as it was sent, for the chat template; null: none
  grammar_spec_ptr grammar = {};  // what the answer is held to, calls among it
  bool offers() const { return !offered.is_null(); }
};

// With a `tool_choice` of "none" nothing is offered. `asked`: what else the body holds its answer to
// (read_grammar), which then is what it says where it makes no call; a JSON Schema or any JSON object, or
// nullptr. Where something is wrong `fields` names it. What a schema says is looked at when it is compiled.
tool_use read_tools(field_reader& fields, const grammar_spec_ptr& asked);

// What is offered alone.
json read_offered_tools(field_reader& fields);

// Of a body that is no chat: `fields` names them where they are asked for.
void refuse_tools(field_reader& fields);

}  // namespace troupe::openai
