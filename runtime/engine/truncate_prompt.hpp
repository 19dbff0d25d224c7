// Makes room for an answer behind a prompt that is too long.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

struct truncation {
  std::int32_t dropped = 0;                     // tokens of the prompt that were left out
  std::optional<std::int32_t> max_tokens = {};  // those the answer may have instead of what was asked for
};

// Leaves tokens out at the front until prompt and answer fit into `context` tokens. A begin-of-text token at
// the very front stays, unless nothing else would. What is kept is the end, as with vLLM's
// truncate_prompt_tokens: there stand a chat's last question and the template's opening of the answer, which
// SGLang's --allow-auto-truncate cuts off. Room is made for `max_tokens`; where the client set none, for a
// quarter of the context, and only where there is none at all, or less than for `min_tokens`. A `max_tokens`
// that leaves no room for any prompt is lowered, as SGLang does, to what the prompt leaves when it is cut as
// if none had been set. In a context of fewer than two tokens nothing fits, and nothing is changed.
truncation truncate_prompt(std::vector<token_id>& prompt, std::int32_t context,
                           std::optional<std::int32_t> max_tokens, std::optional<token_id> bos,
                           std::int32_t min_tokens = 0);

// What the client is told of it, of a prompt that had `size` tokens; empty where nothing was done.
// `max_tokens_field`: the client's name for that.
std::string describe(const truncation& done, std::size_t size, std::int32_t context,
                     std::string_view max_tokens_field);

}  // namespace troupe
