// Bodies of /v1/responses. Field names and meanings: OpenAI's API reference. Nothing is stored between
// requests: a conversation is sent whole.
#pragma once
#include "runtime/openai/request.hpp"

namespace troupe::openai {

// `body`, read by read_body(), as a chat: what chats take beside OpenAI's fields is taken here too. Errors:
// those of parse_chat(), by the names that the fields have here; unsupported for what only a service that
// stores conversations could do.
result<parsed_request> parse_response(json body, const request_context& context);

}  // namespace troupe::openai
