// The texts of the tokens that end an answer in the chat formats in use, whatever a model file calls its
// end-of-text token (llama.cpp, src/llama-vocab.cpp, keeps such a list).
#pragma once
#include <span>
#include <string_view>

namespace troupe {

// Nobody writes these for their own sake: such a token ends an answer whatever kind the file says it is of.
std::span<const std::string_view> unmistakable_end_texts();

// These may be text (HTML's </s>): such a token ends an answer where the file calls it a control token.
std::span<const std::string_view> possible_end_texts();

}  // namespace troupe
