// `chat_template_kwargs`: what a chat template is told beside the chat, as whether a model is to think first.
#pragma once
#include <string_view>

#include "runtime/json/json.hpp"
#include "runtime/result.hpp"

namespace troupe {

// An object of up to 64 variables that the chat itself does not set. Errors: invalid_argument with
// param "chat_template_kwargs".
result<void> check_template_arguments(const json& arguments);

// The same of a JSON text; null where it is empty.
result<json> parse_template_arguments(std::string_view text);

}  // namespace troupe
