#include "runtime/openai/responses/response_stream.hpp"

#include <utility>

namespace troupe::openai {
namespace {

using kind = response_item::kind;

// What the events that bring an item's text are called, before ".delta" and ".done".
std::string text_event(kind what, std::string_view which) {
  const char* const begin = what == kind::reasoning ? "response.reasoning_text"
                            : what == kind::summary ? "response.reasoning_summary_text"
                            : what == kind::message ? "response.output_text"
                                                    : "response.function_call_arguments";
  return std::string(begin) + std::string(which);
}

// Likewise those that begin and end what a message or reasoning consists of.
std::string part_event(kind what, std::string_view which) {
  const char* const begin =
      what == kind::summary ? "response.reasoning_summary_part" : "response.content_part";
  return std::string(begin) + std::string(which);
}

}  // namespace

response_stream::response_stream(answer_identity identity, const answer_options& options,
                                 const token_namer& name)
    : identity_(std::move(identity)), items_(options, name), style_{name} {}

void response_stream::append(std::size_t, const stream_event& event, std::string& out) {
  if (ended()) return;
  if (!std::exchange(is_begun_, true)) {
    state_.warnings = event.warnings;
    append_response(out, "response.created");
    append_response(out, "response.in_progress");
  }
  const bool has_failed = event.end && failure_of(*event.end);
  if (!has_failed)
    for (const item_change& change : items_.add(event)) append_change(out, change);
  if (!event.end) return;
  state_.end = event.end;
  state_.has_cut_off = items_.has_cut_off();
  append_response(out, std::string("response.") + response_status(state_));
}

template <class Write>
void response_stream::append_event(std::string& out, std::string_view type, const Write& write) {
  out += "event: ";
  out += type;
  out += "\ndata: ";
  json_writer event(out);
  event.begin_object().key("type").string(type).key("sequence_number").integer(sequence_++);
  write(event);
  event.end_object();
  out += "\n\n";
}

void response_stream::append_response(std::string& out, std::string_view type) {
  append_event(out, type, [&](json_writer& event) {
    event.key("response");
    write_response(event, identity_, state_, items_.all(), style_);
  });
}

void response_stream::append_change(std::string& out, const item_change& change) {
  if (change.begins) append_begin(out, change.index);
  if (!change.text.empty()) append_delta(out, change);
  if (change.ends) append_end(out, change.index);
}

// What all events of an item have in common.
void response_stream::write_place(json_writer& event, std::size_t index) const {
  const response_item& item = items_.all()[index];
  event.key("output_index").integer(static_cast<std::int64_t>(index));
  event.key("item_id").string(item_name(identity_.call_id, index, item.what));
  if (item.what == kind::function_call) return;
  event.key(item.what == kind::summary ? "summary_index" : "content_index").integer(0);
}

void response_stream::append_item(std::string& out, std::string_view type, std::size_t index,
                                  bool is_begun_only) {
  append_event(out, type, [&](json_writer& event) {
    event.key("output_index").integer(static_cast<std::int64_t>(index)).key("item");
    write_item(event, identity_, index, items_.all()[index], is_begun_only, style_);
  });
}

void response_stream::append_part(std::string& out, std::string_view type, std::size_t index,
                                  bool is_begun_only) {
  append_event(out, type, [&](json_writer& event) {
    write_place(event, index);
    event.key("part");
    write_content_part(event, items_.all()[index], is_begun_only, style_);
  });
}

void response_stream::append_begin(std::string& out, std::size_t index) {
  append_item(out, "response.output_item.added", index, true);
  const kind what = items_.all()[index].what;
  if (what != kind::function_call) append_part(out, part_event(what, ".added"), index, true);
}

void response_stream::append_delta(std::string& out, const item_change& change) {
  const response_item& item = items_.all()[change.index];
  append_event(out, text_event(item.what, ".delta"), [&](json_writer& event) {
    write_place(event, change.index);
    event.key("delta").string(change.text);
    if (item.what != kind::message) return;
    event.key("logprobs");
    write_token_logprobs(event, change.logprobs, style_);
  });
}

void response_stream::append_end(std::string& out, std::size_t index) {
  const response_item& item = items_.all()[index];
  append_event(out, text_event(item.what, ".done"), [&](json_writer& event) {
    write_place(event, index);
    if (item.what == kind::function_call) {
      event.key("name").string(item.name).key("arguments").string(item.text);
      return;
    }
    event.key("text").string(item.text);
    if (item.what != kind::message) return;
    event.key("logprobs");
    write_token_logprobs(event, item.logprobs, style_);
  });
  if (item.what != kind::function_call) append_part(out, part_event(item.what, ".done"), index, false);
  append_item(out, "response.output_item.done", index, false);
}

}  // namespace troupe::openai
