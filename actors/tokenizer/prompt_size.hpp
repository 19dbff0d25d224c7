// How long a prompt is before it is encoded.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/generation_request.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// Bytes of text that would have to be encoded; a prompt of token ids has none.
std::size_t prompt_bytes(const generation_request& request);

// A prompt of more bytes cannot have fewer than `tokens` tokens: no token stands for more than the longest
// piece, and that not for more text than the tokenizer says.
std::size_t largest_prompt(const tokenizer& vocabulary, std::int32_t tokens);

}  // namespace troupe
