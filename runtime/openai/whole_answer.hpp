// Collects a stream into the one body of a request that did not ask for streaming.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/openai/answer_parts.hpp"

namespace troupe::openai {

class whole_answer {
 public:
  void add(stream_event event);
  bool complete() const { return end_.has_value(); }
  // Why there is no answer: set where the stream ended with an error.
  const error* failure() const;
  // The body. Defined once complete().
  std::string body(const answer_identity& identity, const answer_options& options, bool with_logprobs,
                   const token_namer& name) const;

 private:
  void write_choice(json_writer& out, const answer_options& options, bool with_logprobs,
                    const token_style& style) const;
  void write_prompt_parts(json_writer& out, const answer_options& options, const token_style& style) const;

  std::string text_;
  std::vector<token_id> tokens_;
  std::vector<token_logprobs> logprobs_;
  std::vector<token_id> prompt_tokens_;
  std::vector<token_logprobs> prompt_logprobs_;
  std::optional<finished> end_;
};

}  // namespace troupe::openai
