// What an answer is held to: OpenAI's response_format, vLLM's structured_outputs and its older guided_*
// names, and the names of llama.cpp and SGLang.
#pragma once
#include <array>
#include <string_view>

#include "runtime/grammar/specification/grammar_spec.hpp"
#include "runtime/openai/field_reader.hpp"

namespace troupe::openai {

// The members that a schema may stand in: its numbers are to be kept as they are written.
inline constexpr std::array<std::string_view, 7> members_with_schemas{
    "response_format", "structured_outputs", "guided_json", "structural_tag", "tools", "json_schema", "text"};

// nullptr where the body asks for nothing of the kind; with a wrong member too, which `fields` names then.
// Two of them in one body are an error. What a schema or an expression says is looked at when it is compiled.
grammar_spec_ptr read_grammar(field_reader& fields);

}  // namespace troupe::openai
