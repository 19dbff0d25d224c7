// Turns the events of one stream into server-sent events in OpenAI's shape.
// Format of an event: https://html.spec.whatwg.org/multipage/server-sent-events.html
#pragma once
#include <cstdint>
#include <string>

#include "runtime/openai/answer_parts.hpp"

namespace troupe::openai {

class chunk_stream {
 public:
  // `name` must outlive the stream.
  chunk_stream(answer_identity identity, answer_options options, bool with_logprobs, const token_namer& name);

  // Appends what `event` adds to `out`: nothing where it shows nothing; with its end also the usage where
  // asked for, an error where it failed, and "data: [DONE]".
  void append(const stream_event& event, std::string& out);

 private:
  void append_chunk(const stream_event& event, const finished* end, std::string& out);
  void append_usage(std::string& out);
  void write_logprobs(json_writer& out, const stream_event& event);
  bool shows(const stream_event& event) const;

  answer_options options_;
  bool with_logprobs_;
  token_style style_;
  std::string head_;  // "data: {" and the identity, the same on every chunk
  bool started_ = false;
  std::int64_t text_offset_ = 0;
  usage so_far_;
};

}  // namespace troupe::openai
