// The answer of /tokenizer_info in vLLM's shape: what a client needs that renders and counts by itself, such
// as lm-evaluation-harness with tokenizer_backend=remote.
#pragma once
#include <string>

#include "runtime/chat_template/chat_template.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::openai {

// {"tokenizer_class", "bos_token", "eos_token", "pad_token", "chat_template"}: texts, or null where the model
// has no such token. Prompts are not padded: the padding token is the end-of-text token.
std::string tokenizer_info_answer(const tokenizer& vocabulary, const chat_template& chat);

}  // namespace troupe::openai
