// Errors as OpenAI's clients read them: {"error": {"message", "type", "param", "code"}}.
#pragma once
#include <string>

#include "runtime/openai/json_writer.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// 400, 404, 413, 429, 503 or 500.
int http_status(error_code code);
// True for refusals that may succeed later: the answer carries Retry-After.
bool is_transient(error_code code);

// Appends {"message": ..., "type": ..., "param": ..., "code": ...}.
void write_error(json_writer& out, const error& failure);
// The whole body.
std::string error_body(const error& failure);

}  // namespace troupe::openai
