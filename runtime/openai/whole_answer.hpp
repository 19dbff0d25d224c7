// Collects the streams of a request that did not ask for streaming into one body.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/openai/answer_parts.hpp"
#include "runtime/openai/tool_call_reader.hpp"

namespace troupe::openai {

class whole_answer {
 public:
  // `choices`: how many streams there are, at least 1.
  explicit whole_answer(std::int32_t choices = 1) : choices_(static_cast<std::size_t>(choices)) {}

  // Of the stream at `index`, which must be below the number of choices.
  void add(std::size_t index, stream_event event);
  // Nothing more is waited for: all streams have ended, or one has failed.
  bool complete() const { return failure_.has_value() || ended_ == choices_.size(); }
  // Why there is no answer: set where a stream ended with an error.
  const error* failure() const { return failure_ ? &*failure_ : nullptr; }
  // The body. Defined once complete(). The usage counts each prompt once and all completions.
  std::string body(const answer_identity& identity, const answer_options& options, bool with_logprobs,
                   const token_namer& name) const;

 private:
  struct choice {
    std::string reasoning;
    std::string text;
    std::vector<token_id> tokens;
    std::vector<token_logprobs> logprobs;
    std::vector<token_id> prompt_tokens;
    std::vector<token_logprobs> prompt_logprobs;
    std::optional<finished> end;
  };
  usage used(std::int32_t n) const;
  static void write_message(json_writer& out, std::uint64_t call_id, std::size_t index,
                            std::string_view reasoning, const answer_part& said);
  void write_choice(json_writer& out, std::uint64_t call_id, std::size_t index, const answer_options& options,
                    bool with_logprobs, const token_style& style) const;
  static void write_prompt_parts(json_writer& out, const choice& from, const answer_options& options,
                                 const token_style& style);

  std::vector<choice> choices_;
  std::size_t ended_ = 0;
  std::optional<error> failure_;
  std::vector<std::string> warnings_;
};

}  // namespace troupe::openai
