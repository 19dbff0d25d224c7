// Log-probabilities in the three shapes that clients know: chats and responses, completions, and vLLM's for
// prompts.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/json/json_writer.hpp"
#include "runtime/stream.hpp"

namespace troupe::openai {

using token_namer = std::function<std::string(token_id)>;  // the raw bytes of a token

// How tokens are written where JSON wants text.
struct token_style {
  const token_namer& name;
  bool as_ids = false;  // "token_id:42"

  std::string text(token_id id) const;
};

// [{"token", "logprob", "bytes", "top_logprobs": [...]}]
void write_token_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                          const token_style& style);
// {"content": [...]}, these.
void write_chat_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                         const token_style& style);

// How far a text has come that tokens spell, in characters. One that several tokens spell counts with the
// last of them: all of them are where it begins.
class text_position {
 public:
  std::int64_t characters() const { return characters_; }
  void pass(std::string_view token);

 private:
  std::int64_t characters_ = 0;
  std::string pending_;  // bytes of one that is not whole
};

// {"text_offset", "token_logprobs", "tokens", "top_logprobs"}. `at` is moved past these tokens. With no
// alternatives asked for, top_logprobs holds the sampled token alone. Of a token whose log-probability is not
// a number nothing is known: null.
void write_completion_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                               const token_style& style, text_position& at);

// [null, {"<id>": {"logprob", "rank", "decoded_token"}}, ...]: the first prompt token has no probability.
void write_prompt_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                           const token_style& style);

}  // namespace troupe::openai
