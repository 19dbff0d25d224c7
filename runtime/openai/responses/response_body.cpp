#include "runtime/openai/responses/response_body.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/openai/error_body.hpp"

namespace troupe::openai {
namespace {

using kind = response_item::kind;

const char* error_code_of(const error& failure) {
  return failure.code == error_code::resource_exhausted ? "rate_limit_exceeded" : "server_error";
}

// Of the reasons that clients know one fits, also where the time was over; none where a stop string ended a
// call in its midst.
void write_why_incomplete(json_writer& out, const response_state& state) {
  const std::optional<finished>& end = state.end;
  const std::string_view status = response_status(state);
  out.key("error");
  if (status == "failed") {
    const error failure = *failure_of(*end);
    out.begin_object().key("code").string(error_code_of(failure)).key("message").string(failure.message);
    if (const auto seconds = retry_after(failure)) out.key("retry_after").integer(*seconds);
    out.end_object();
  } else {
    out.null();
  }
  out.key("incomplete_details");
  if (status == "incomplete") {
    out.begin_object().key("reason");
    if (end->reason == finish_reason::stop) {
      out.null();
    } else {
      out.string("max_output_tokens");
    }
    out.end_object();
  } else {
    out.null();
  }
  if (!end) return;
  if (end->reason == finish_reason::timeout) {
    out.key("stop_reason").string(to_string(end->reason));
  } else {
    write_stop_reason(out, *end);
  }
}

void write_usage_of(json_writer& out, const std::optional<finished>& end) {
  out.key("usage");
  if (!end) {
    out.null();
    return;
  }
  const usage& tokens = end->tokens;
  out.begin_object().key("input_tokens").integer(tokens.prompt_tokens);
  out.key("input_tokens_details").begin_object().key("cached_tokens").integer(tokens.cached_tokens);
  out.key("cache_write_tokens").integer(0).end_object();
  out.key("output_tokens").integer(tokens.completion_tokens);
  out.key("output_tokens_details").begin_object().key("reasoning_tokens").integer(tokens.reasoning_tokens);
  out.end_object().key("total_tokens");
  out.integer(std::int64_t{tokens.prompt_tokens} + tokens.completion_tokens).end_object();
}

}  // namespace

const char* response_status(const response_state& state) {
  if (!state.end) return "in_progress";
  if (failure_of(*state.end)) return "failed";
  return state.end->reason == finish_reason::stop && !state.has_cut_off ? "completed" : "incomplete";
}

void write_response(json_writer& out, const answer_identity& identity, const response_state& state,
                    const std::vector<response_item>& items, const token_style& style) {
  out.begin_object().key("id").string(identity.id).key("object").string("response");
  out.key("created_at").integer(identity.created).key("status").string(response_status(state));
  out.key("model").string(identity.model).key("background").boolean(false);
  write_why_incomplete(out, state);
  if (identity.echoed_members) out.raw(*identity.echoed_members);
  out.key("previous_response_id").null().key("store").boolean(false);
  out.key("truncation").string("disabled").key("output").begin_array();
  for (std::size_t index = 0; index < items.size(); ++index)
    write_item(out, identity, index, items[index], false, style);
  out.end_array();
  write_usage_of(out, state.end);
  write_warnings(out, state.warnings);
  out.end_object();
}

std::string item_name(std::uint64_t call_id, std::size_t index, kind what) {
  const char* const prefix = what == kind::message ? "msg" : what == kind::function_call ? "fc" : "rs";
  return fmt::format("{}_{:016x}{:04x}", prefix, call_id, index);
}

void write_item(json_writer& out, const answer_identity& identity, std::size_t index,
                const response_item& item, bool is_begun_only, const token_style& style) {
  const char* const how_far = item.is_complete ? "completed" : "incomplete";
  out.begin_object().key("id").string(item_name(identity.call_id, index, item.what));
  out.key("status").string(is_begun_only ? "in_progress" : how_far).key("type");
  if (item.what == kind::function_call) {
    out.string("function_call").key("call_id").string(call_name(identity.call_id, 0, item.call));
    out.key("name").string(item.name);
    out.key("arguments").string(is_begun_only ? "" : std::string_view(item.text)).end_object();
    return;
  }
  if (item.what == kind::message) {
    out.string("message").key("role").string("assistant");
  } else {
    out.string("reasoning");
  }
  if (item.what == kind::reasoning) out.key("summary").begin_array().end_array();
  out.key(item.what == kind::summary ? "summary" : "content").begin_array();
  if (!is_begun_only) write_content_part(out, item, false, style);
  out.end_array().end_object();
}

void write_content_part(json_writer& out, const response_item& item, bool is_begun_only,
                        const token_style& style) {
  const bool is_text = item.what == kind::message;
  const char* const thoughts = item.what == kind::summary ? "summary_text" : "reasoning_text";
  out.begin_object().key("type").string(is_text ? "output_text" : thoughts);
  out.key("text").string(is_begun_only ? "" : std::string_view(item.text));
  if (is_text) {
    out.key("annotations").begin_array().end_array().key("logprobs");
    const std::span<const token_logprobs> told(item.logprobs);
    write_token_logprobs(out, told.first(is_begun_only ? 0 : told.size()), style);
  }
  out.end_object();
}

}  // namespace troupe::openai
