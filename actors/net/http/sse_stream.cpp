#include "actors/net/http/sse_stream.hpp"

namespace troupe::net {
namespace {

bool shows_something(const stream_event& event) {
  return event.end || !event.reasoning.empty() || !event.text.empty() || !event.tokens.empty();
}

}  // namespace

sse_stream::sse_stream(const answer_plan& plan, const request_line& request)
    : request_(request),
      answer_(openai::make_answer_stream(plan.identity, plan.options, plan.with_logprobs, plan.name)) {}

std::string sse_stream::encode(const std::vector<tagged_event>& events) {
  std::string data;
  for (const tagged_event& entry : events) {
    if (!started_ && data.empty() && !shows_something(entry.event)) continue;
    if (!started_ && data.empty() && entry.event.end && entry.event.end->failure) {
      refusal_ = entry.event.end->failure;
      return {};
    }
    answer_->append(entry.stream, entry.event, data);
  }
  if (data.empty()) return {};
  std::string out;
  if (!started_) out = head();
  started_ = true;
  if (request_.version == 10) return out + data;
  append_chunk(out, data);
  if (answer_->ended()) out += last_chunk;
  return out;
}

// A line that begins with a colon is a comment of server-sent events.
const std::string& sse_stream::comment() const {
  static const std::string none;
  static const std::string plain = ":\n\n";
  static const std::string chunk = "3\r\n:\n\n\r\n";
  if (!started_) return none;
  return request_.version == 10 ? plain : chunk;
}

std::string sse_stream::head() const {
  http_response response;
  response.content_type = "text/event-stream; charset=utf-8";
  response.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  return response_head(response, request_.version == 10 ? "" : "Transfer-Encoding: chunked", request_);
}

}  // namespace troupe::net
