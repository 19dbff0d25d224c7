// Whether the answer to a prompt reasons first.
#pragma once
#include <span>

#include "runtime/chat_template/chat_template.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/reasoning.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// By the end of the prompt (build_prompt), where the template is one of a model that reasons: behind its
// opening mark the answer goes on with that, behind the closing one the model is kept from it; else it may
// begin so. Of a chat alone, and not where the answer goes on with a message that has been through it. Never
// an error.
reasoning_start reasoning_of(const generation_request& request, std::span<const token_id> prompt,
                             const tokenizer& tokenizer, const chat_template& chat);

}  // namespace troupe
