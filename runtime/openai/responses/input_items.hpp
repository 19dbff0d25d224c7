// The `input` of /v1/responses as the messages of a chat.
#pragma once
#include "runtime/json/json_reader.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// `input`: what the user says, or an array of items: messages, function calls, their outputs, and what the
// model was thinking. What a model did in one go, its reasoning, its text and its calls, becomes one message;
// text behind calls is a line more of it.
// `instructions`, a string or null, come first, as the system's. Errors: invalid_argument that names the
// item.
result<json> messages_of_items(const json& input, const json& instructions);

}  // namespace troupe::openai
