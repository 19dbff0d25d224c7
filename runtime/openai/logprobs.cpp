#include "runtime/openai/logprobs.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/utf8.hpp"

namespace troupe::openai {
namespace {

// JSON has no infinities; vLLM's floor for a probability of nought.
float finite(float logprob) {
  constexpr float floor = -9999.0F;
  return std::isfinite(logprob) && logprob > floor ? logprob : floor;
}

bool has_logprob(const token_logprobs& position) { return !std::isnan(position.logprob); }

// A name once: tokens of parts of characters have one text, and of members with one name readers keep the
// last. The token that stands there comes first, then the most probable ones.
void write_top(json_writer& out, const token_logprobs& position, const token_style& style) {
  std::vector<std::string> names;
  const auto write = [&](token_id id, float logprob) {
    const std::string text = style.text(id);
    std::string name;
    append_json_string(name, text);
    if (std::ranges::find(names, name) != names.end()) return;
    out.key(text).number(finite(logprob));
    names.push_back(std::move(name));
  };
  out.begin_object();
  write(position.token, position.logprob);
  for (const auto& [id, logprob] : position.top) write(id, logprob);
  out.end_object();
}

void write_chat_token(json_writer& out, token_id id, float logprob, const token_style& style) {
  out.key("token").string(style.text(id)).key("logprob").number(finite(logprob)).key("bytes").begin_array();
  for (const char byte : style.name(id)) out.integer(static_cast<unsigned char>(byte));
  out.end_array();
}

}  // namespace

std::string token_style::text(token_id id) const {
  return as_ids ? "token_id:" + std::to_string(id) : name(id);
}

void write_chat_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                         const token_style& style) {
  out.begin_object().key("content").begin_array();
  for (const token_logprobs& position : positions) {
    out.begin_object();
    write_chat_token(out, position.token, position.logprob, style);
    out.key("top_logprobs").begin_array();
    for (const auto& [id, logprob] : position.top) {
      out.begin_object();
      write_chat_token(out, id, logprob, style);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
}

void write_completion_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                               const token_style& style, std::int64_t& text_offset) {
  out.begin_object().key("text_offset").begin_array();
  for (const token_logprobs& position : positions) {
    out.integer(text_offset);
    text_offset += utf8_length(style.name(position.token));
  }
  out.end_array().key("token_logprobs").begin_array();
  for (const token_logprobs& position : positions) {
    if (has_logprob(position)) {
      out.number(finite(position.logprob));
    } else {
      out.null();
    }
  }
  out.end_array().key("tokens").begin_array();
  for (const token_logprobs& position : positions) out.string(style.text(position.token));
  out.end_array().key("top_logprobs").begin_array();
  for (const token_logprobs& position : positions) {
    if (has_logprob(position)) {
      write_top(out, position, style);
    } else {
      out.null();
    }
  }
  out.end_array().end_object();
}

void write_prompt_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                           const token_style& style) {
  const auto entry = [&](token_id id, float logprob, std::int64_t rank) {
    out.key(std::to_string(id))
        .begin_object()
        .key("logprob")
        .number(finite(logprob))
        .key("rank")
        .integer(rank);
    out.key("decoded_token").string(style.name(id)).end_object();
  };
  out.begin_array().null();
  for (const token_logprobs& position : positions) {
    out.begin_object();
    entry(position.token, position.logprob, position.rank);
    std::int64_t rank = 0;
    for (const auto& [id, logprob] : position.top) {
      ++rank;
      if (id != position.token) entry(id, logprob, rank);
    }
    out.end_object();
  }
  out.end_array();
}

}  // namespace troupe::openai
