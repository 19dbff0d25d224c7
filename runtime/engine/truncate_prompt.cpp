#include "runtime/engine/truncate_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

// How many tokens of a prompt of `size` fit.
std::int64_t kept_tokens(std::int64_t size, std::int32_t context, std::optional<std::int32_t> max_tokens,
                         std::int32_t min_tokens) {
  const std::int64_t needed = std::max(1, max_tokens.value_or(min_tokens));
  if (size + needed <= context) return size;
  const std::int64_t room = max_tokens ? needed : std::max<std::int64_t>(needed, context / 4);
  return std::min(size, context - room);
}

}  // namespace

truncation truncate_prompt(std::vector<token_id>& prompt, std::int32_t context,
                           std::optional<std::int32_t> max_tokens, std::optional<token_id> bos,
                           std::int32_t min_tokens) {
  if (context < 2 || prompt.empty()) return {};
  const bool is_answer_too_long = max_tokens && *max_tokens >= context;
  if (is_answer_too_long) max_tokens.reset();
  const auto size = static_cast<std::int64_t>(prompt.size());
  if (min_tokens >= context) min_tokens = 0;  // refused later
  const std::int64_t keep = kept_tokens(size, context, max_tokens, min_tokens);
  const bool keeps_bos = keep > 1 && bos && prompt.front() == *bos;
  const auto front = prompt.begin() + (keeps_bos ? 1 : 0);
  prompt.erase(front, front + (size - keep));
  truncation done{static_cast<std::int32_t>(size - keep)};
  if (is_answer_too_long) done.max_tokens = context - static_cast<std::int32_t>(keep);
  return done;
}

std::string describe(const truncation& done, std::size_t size, std::int32_t context,
                     std::string_view max_tokens_field) {
  std::string text;
  if (done.dropped > 0)
    text = fmt::format(
        "the prompt was cut: of its {} tokens the first {} were left out, so that prompt and answer fit into "
        "{}",
        size, done.dropped, context);
  if (done.max_tokens)
    text += fmt::format("{}{} was lowered to {}: as it was it left no room for a prompt in {} tokens",
                        text.empty() ? "" : "; ", max_tokens_field, *done.max_tokens, context);
  return text;
}

}  // namespace troupe
