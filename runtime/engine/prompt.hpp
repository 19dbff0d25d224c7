// From what a client sent to the tokens that the engine runs.
#pragma once
#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/chat_template/chat_template.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// Chat: the messages are rendered by the template, which writes the begin-of-text token itself where the
// model wants one. Message contents are strings or lists of {"type": "text", "text": ...}, joined by line
// breaks. Text: encoded, with the begin-of-text token where the file asks for it. Tokens: checked against the
// vocabulary. Special tokens written out in a prompt ("<|im_end|>") become those tokens, as in vLLM and
// llama.cpp: who passes on words of strangers in a chat has to take such text out of them. `now`: the local
// time, for templates that tell it; they do without where there is none. Errors: invalid_argument, with param
// "messages" or "prompt".
result<std::vector<token_id>> build_prompt(const generation_request& request, const tokenizer& tokenizer,
                                           const chat_template& chat, const std::optional<std::tm>& now);

// The field of the client's request that the prompt stands in: "messages" or "prompt".
std::string_view field_of_prompt(const generation_request& request);

}  // namespace troupe
