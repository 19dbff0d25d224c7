// A message's content where it is an array of parts.
#pragma once
#include <string>
#include <string_view>

#include "runtime/json/json_reader.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// The texts of `parts`, a line each: of {"type": "text", "text": ...}, of /v1/responses' "input_text" and
// "output_text", and of {"type": "refusal", "refusal": ...}. Errors: invalid_argument that names `at`, where
// they stand, and a part that is none of these; its param is what `at` begins with, up to a '['.
result<std::string> text_of_parts(const json& parts, std::string_view at);

}  // namespace troupe::openai
