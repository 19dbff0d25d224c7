// The server-sent events of /v1/chat/completions and /v1/completions: chunks of an answer, in OpenAI's shape.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/openai/answer_stream.hpp"
#include "runtime/openai/tool_call_reader.hpp"

namespace troupe::openai {

class chunk_stream final : public answer_stream {
 public:
  // `name` must outlive the stream.
  chunk_stream(const answer_identity& identity, answer_options options, bool with_logprobs,
               const token_namer& name);

  // With the last stream's end also the usage where asked for and "data: [DONE]"; where a stream has failed
  // an error and "data: [DONE]".
  void append(std::size_t index, const stream_event& event, std::string& out) override;
  bool ended() const override { return ended_; }

 private:
  struct choice {
    tool_call_reader calls = {};  // used where tools are offered
    bool started = false;
    std::vector<std::string> warnings = {};  // for its first chunk
    text_position at;
    usage so_far = {};
  };
  void append_event(std::size_t index, const stream_event& event, const finished* end, std::string& out);
  void append_chat_event(std::size_t index, const stream_event& event, const finished* end, std::string& out);
  // What a chunk brings: what the model thinks, text, or a part of a call.
  struct piece {
    std::string_view reasoning = {};
    std::string_view text = {};
    const tool_call_part* call = nullptr;
  };
  void append_chunk(std::size_t index, const piece& brings, const stream_event& event, const finished* end,
                    std::string& out);
  void write_delta(json_writer& out, std::size_t index, const piece& brings, bool first) const;
  void append_usage(std::string& out);
  void write_logprobs(json_writer& out, choice& of, const stream_event& event);
  bool shows_tokens(const stream_event& event) const;

  std::uint64_t call_id_;  // of the identity
  answer_options options_;
  bool with_logprobs_;
  token_style style_;
  std::string head_;  // "data: {" and the identity, the same on every chunk
  std::vector<choice> choices_;
  std::size_t open_;  // streams that have not ended
  bool ended_ = false;
};

}  // namespace troupe::openai
