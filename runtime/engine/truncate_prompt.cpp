#include "runtime/engine/truncate_prompt.hpp"

#include <algorithm>

namespace troupe {

std::int32_t truncate_prompt(std::vector<token_id>& prompt, std::int32_t context,
                             std::optional<std::int32_t> max_tokens, std::optional<token_id> bos) {
  const std::int64_t needed = std::max(1, max_tokens.value_or(1));
  const auto size = static_cast<std::int64_t>(prompt.size());
  if (size + needed <= context) return 0;
  const std::int64_t room = max_tokens ? needed : std::max(1, context / 4);
  const std::int64_t keep = context - room;
  if (keep < 2 || size <= keep) return 0;
  const bool keeps_bos = bos && prompt.front() == *bos;
  const std::int64_t dropped = size - keep;
  const auto front = prompt.begin() + (keeps_bos ? 1 : 0);
  prompt.erase(front, front + dropped);
  return static_cast<std::int32_t>(dropped);
}

}  // namespace troupe
