// The "messages" of a chat, checked and brought into the one form that chat templates expect, and how they
// are rendered.
#pragma once
#include "runtime/generation_request.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/openai/field_reader.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// A non-empty array of objects with a string "role". "content" may be a string or an array of text
// parts, which are joined by line breaks as vLLM does for templates that take strings. It may be missing or
// null of an assistant, where it becomes null, and of a tool, where it becomes "". The
// arguments of "tool_calls" may be an object or a text; that of an object becomes one. A text "reasoning"
// becomes "reasoning_content" too, where there is none. Other members are kept but for those that are null
// and "tool_calls" without any.
result<json> read_messages(const json& messages);

// "add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template_kwargs" and
// "reasoning_effort".
void read_rendering(field_reader& fields, chat_prompt& prompt);

}  // namespace troupe::openai
