// The events of one request as the bytes of a streamed HTTP answer: head, server-sent events, framing.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/net/http/http_message.hpp"
#include "actors/net/live_generation.hpp"
#include "runtime/openai/answer_parts.hpp"
#include "runtime/openai/answer_stream.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::net {

// How one request is to be answered.
struct answer_plan {
  openai::answer_identity identity;
  openai::answer_options options;
  bool with_logprobs = false;
  openai::token_namer name;
};

class sse_stream {
 public:
  // HTTP/1.0 knows no chunks: there the end of the connection ends the answer.
  // `plan` must outlive the stream.
  sse_stream(const answer_plan& plan, const request_line& request);

  // What to write for these events, in one piece; empty where they show nothing.
  std::string encode(const std::vector<tagged_event>& events);
  bool ended() const { return refusal_.has_value() || answer_->ended(); }
  // Bytes that mean nothing to the client; empty while nothing has been encoded.
  const std::string& comment() const;
  // The request was refused before anything was shown: the answer is an error with its own status.
  const std::optional<error>& refusal() const { return refusal_; }

 private:
  std::string head() const;

  request_line request_;
  std::unique_ptr<openai::answer_stream> answer_;
  bool started_ = false;
  std::optional<error> refusal_;
};

}  // namespace troupe::net
