// Makes room for an answer behind a prompt that is too long.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// Leaves tokens out at the front until prompt and answer fit into `context` tokens; how many. A begin-of-text
// token at the very front stays. What is kept is the end, as with vLLM's truncate_prompt_tokens: there stand
// a chat's last question and the template's opening of the answer, which SGLang's --allow-auto-truncate cuts
// off. Room is made for `max_tokens`; where the client set none, for a quarter of the context, and only where
// there is none at all. A prompt is left as it is where no prompt could fit.
std::int32_t truncate_prompt(std::vector<token_id>& prompt, std::int32_t context,
                             std::optional<std::int32_t> max_tokens, std::optional<token_id> bos);

}  // namespace troupe
