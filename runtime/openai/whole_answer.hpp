// Whole answers of /v1/chat/completions and /v1/completions.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/openai/answer_collector.hpp"
#include "runtime/openai/tool_call_reader.hpp"

namespace troupe::openai {

class whole_answer final : public answer_collector {
 public:
  // `name` must outlive it.
  whole_answer(answer_identity identity, const answer_options& options, bool with_logprobs,
               const token_namer& name);

  void add(std::size_t index, stream_event event) override;
  bool complete() const override { return failure_.has_value() || ended_ == choices_.size(); }
  const error* failure() const override { return failure_ ? &*failure_ : nullptr; }
  std::string body() const override;

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
  usage used() const;
  void write_message(json_writer& out, std::size_t index, std::string_view reasoning,
                     const std::vector<answer_part>& said) const;
  void write_choice(json_writer& out, std::size_t index) const;
  void write_prompt_parts(json_writer& out, const choice& from) const;

  answer_identity identity_;
  answer_options options_;
  bool with_logprobs_;
  token_style style_;
  std::vector<choice> choices_;
  std::size_t ended_ = 0;
  std::optional<error> failure_;
  std::vector<std::string> warnings_;
};

}  // namespace troupe::openai
