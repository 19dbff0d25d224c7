// Bodies of /tokenize and /detokenize in vLLM's shape.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::openai {

// A text to be turned into tokens. Unlike a prompt it may be empty.
struct tokenize_request {
  std::variant<chat_prompt, text_prompt> prompt;
  bool return_token_strs = false;
};

// {"prompt" or "messages", "add_special_tokens", "add_generation_prompt", "return_token_strs"}
result<tokenize_request> parse_tokenize(const json& body, const request_context& context);
// {"tokens": [...]}
result<std::vector<token_id>> parse_detokenize(const json& body, const request_context& context);

// {"prompt"}
std::string detokenize_answer(std::string_view text);

}  // namespace troupe::openai
