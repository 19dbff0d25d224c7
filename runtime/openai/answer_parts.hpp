// Members that whole answers, chunks and frames have in common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/json/json_writer.hpp"
#include "runtime/openai/logprobs.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/stream.hpp"

namespace troupe::openai {

// What every answer to one request repeats.
struct answer_identity {
  std::string id;  // "chatcmpl-...", "cmpl-..." or "resp_..."
  std::string model;
  std::int64_t created = 0;   // unix seconds
  std::uint64_t call_id = 0;  // by chance: what the ids of its tool calls and items are made of
  // Of a response: the members of its request that it bears too, as JSON text; null: none.
  std::shared_ptr<const std::string> echoed_members = {};
};

// "id", "object", "created", "model".
void write_identity(json_writer& out, const answer_identity& identity, std::string_view object);
// One choice more: the prompt of all of them is one, their completions add up. What the first of them found
// cached tells what the prompt cost, whatever the others shared.
void add_choice(usage& all, const usage& choice);
// Of all answers, in the order of their indices, `n` to each prompt.
usage usage_of(std::span<const usage> answers, std::int32_t n);
// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details": {"cached_tokens"},
// "completion_tokens_details": {"reasoning_tokens"}}; the last where there are such tokens.
void write_usage(json_writer& out, const usage& tokens);
// "finish_reason" and vLLM's "stop_reason": the stop string or token id that matched, else null.
// nullptr writes both as null. Where the model stopped and has called tools (`calls`), the reason is
// "tool_calls". Clients take no reasons but OpenAI's: who ran out of time was cut off ("length"), and the
// stop reason is "timeout".
void write_finish(json_writer& out, const finished* end, bool calls = false);
// "stop_reason" alone.
void write_stop_reason(json_writer& out, const finished& end);
// Why there is no whole answer, if so: also where it was cut off, since nobody but the service's end does
// that to somebody who waits for it.
std::optional<error> failure_of(const finished& end);
// What a call is known by: another name in each choice of each answer. `call_id`: the answer's.
std::string call_name(std::uint64_t call_id, std::size_t choice, std::size_t call);
// A call's "id" and "type".
void write_call_id(json_writer& out, std::uint64_t call_id, std::size_t choice, std::size_t call);
// "warnings": [...]; nothing where there is none.
void write_warnings(json_writer& out, std::span<const std::string> warnings);
void write_ids(json_writer& out, std::span<const token_id> ids);

}  // namespace troupe::openai
