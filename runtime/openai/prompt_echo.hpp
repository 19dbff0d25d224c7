// `echo` of /v1/completions: answers that begin with their prompts.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/openai/logprobs.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/stream.hpp"

namespace troupe::openai {

class prompt_echo {
 public:
  // Of the answers to `parsed`, of which nothing is kept but what is needed; `name` must outlive it.
  prompt_echo(const parsed_request& parsed, const token_namer& name);

  // Puts the prompt in front of what the first event of the answer at `index` brings, with its tokens'
  // log-probabilities where the answer's are asked for. Does nothing where no echo is.
  void add_to(std::size_t index, stream_event& event) const;

 private:
  std::string text_of(std::size_t index, const stream_event& event) const;

  bool wanted_ = false;
  bool prompt_alone_ = false;
  bool with_logprobs_ = false;
  std::size_t n_ = 1;
  // As they were sent, one for each prompt; empty where it was sent as tokens.
  std::vector<std::string> texts_;
  const token_namer& name_;
};

}  // namespace troupe::openai
