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

// A name once, with the best of its values: tokens of parts of characters have one text, and of members with
// one name readers keep the last. The token that stands there comes first, then the most probable ones.
void write_top(json_writer& out, const token_logprobs& position, const token_style& style) {
  std::vector<std::pair<std::string, float>> named;
  const auto add = [&](token_id id, float logprob) {
    std::string text = replace_invalid_utf8(style.text(id));
    const auto same = std::ranges::find(named, text, &std::pair<std::string, float>::first);
    if (same == named.end()) {
      named.emplace_back(std::move(text), logprob);
    } else {
      same->second = std::max(same->second, logprob);
    }
  };
  add(position.token, position.logprob);
  for (const auto& [id, logprob] : position.top) add(id, logprob);
  out.begin_object();
  for (const auto& [text, logprob] : named) out.key(text).number(finite(logprob));
  out.end_object();
}

void write_chat_token(json_writer& out, token_id id, float logprob, const token_style& style) {
  out.key("token").string(style.text(id)).key("logprob").number(finite(logprob)).key("bytes").begin_array();
  for (const char byte : style.name(id)) out.integer(static_cast<unsigned char>(byte));
  out.end_array();
}

}  // namespace

void text_position::pass(std::string_view token) {
  pending_ += token;
  std::string whole;
  drain_utf8(pending_, whole);
  characters_ += utf8_length(whole);
}

std::string token_style::text(token_id id) const {
  return as_ids ? "token_id:" + std::to_string(id) : name(id);
}

void write_token_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                          const token_style& style) {
  out.begin_array();
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
  out.end_array();
}

void write_chat_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                         const token_style& style) {
  out.begin_object().key("content");
  write_token_logprobs(out, positions, style);
  out.end_object();
}

void write_completion_logprobs(json_writer& out, std::span<const token_logprobs> positions,
                               const token_style& style, text_position& at) {
  out.begin_object().key("text_offset").begin_array();
  for (const token_logprobs& position : positions) {
    out.integer(at.characters());
    at.pass(style.name(position.token));
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
