// Errors as OpenAI's clients read them: {"error": {"message", "type", "param", "code"}}, and "retry_after"
// beside these where another try may succeed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/json/json_writer.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// 400, 401, 404, 413, 429, 503 or 500.
int http_status(error_code code);
// The "code": "invalid_value", "model_not_found", ...
const char* error_word(const error& failure);
// Seconds, at least 1, until another try may succeed; nothing where none will.
std::optional<std::int32_t> retry_after(const error& failure);

// Appends {"message": ..., "type": ..., "param": ..., "code": ..., "retry_after": ...}; the last only where
// there is one.
void write_error(json_writer& out, const error& failure);
// The whole body.
std::string error_body(const error& failure);

}  // namespace troupe::openai
