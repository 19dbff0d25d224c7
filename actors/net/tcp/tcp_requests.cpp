// What tcp_session does with the frames of its client, and with the events for it.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "actors/net/keys_in_force.hpp"
#include "actors/net/tcp/tcp_session.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/wire/payloads.hpp"

namespace troupe::net {
namespace {

// There are no headers here: the members of the same names.
std::optional<trace_context> caller_in(const json& document) {
  const auto text = [&document](const char* name) {
    const auto found = document.is_object() ? document.find(name) : document.end();
    return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return read_trace_context(text("traceparent"), text("tracestate"));
}

}  // namespace

asio::awaitable<std::optional<error>> tcp_session::handle(const wire::frame_header& header,
                                                          const std::string& payload) {
  switch (static_cast<wire::frame_type>(header.type)) {
    case wire::frame_type::hello:
      co_return greet(payload);
    case wire::frame_type::generate:
      co_await start_stream(header.request, payload);
      break;
    case wire::frame_type::cancel:
      cancel_stream(header.request);
      break;
    default:
      queue(wire::frame_type::pong, 0, payload);
      break;
  }
  co_return std::nullopt;
}

std::optional<error> tcp_session::greet(const std::string& payload) {
  const auto said = wire::parse_hello(payload);
  if (!said) return said.error();
  if (!is_authorized(shared_->options.keys.get(), said->api_key)) {
    shared_->strangers.add(socket_);
    error stranger{
        error_code::unauthenticated,
        said->api_key.empty() ? "the hello must have an \"api_key\"" : "this is no key of a client",
        "api_key"};
    request_report report = begun_report(0);
    report.failure = failure_of(stranger);
    tell_ended(shared_->options.observers, std::move(report));
    return stranger;
  }
  greeted_ = true;
  number_ = ++shared_->sessions;
  const model_card model = shared_->port.model();
  const tcp_options& options = shared_->options;
  queue(wire::frame_type::welcome, 0,
        wire::welcome_payload(
            {options.version, model.id, model.max_model_len, options.max_frame_bytes, options.max_streams}));
  return std::nullopt;
}

asio::awaitable<void> tcp_session::start_stream(std::uint64_t request, const std::string& payload) {
  request_report report = begun_report(request);
  result<void> free = check_stream(request);
  if (free) {
    auto parsed = co_await parse(payload, report);
    if (gone_) co_return;
    if (!parsed) {
      free = tl::unexpected<error>(parsed.error());
    } else if (free = check_stream(request); free) {  // again: that may have taken a while
      streams_.emplace(request, open_stream(report, request, std::move(*parsed)));
    }
  }
  if (free) co_return;
  report.failure = failure_of(free.error());
  tell_ended(shared_->options.observers, std::move(report));
  queue(wire::frame_type::error, request, wire::error_payload(free.error()));
}

request_report tcp_session::begun_report(std::uint64_t request) const {
  request_report report;
  report.id = fmt::format("tcp-{}/{}", number_, request);
  report.gateway = "tcp";
  report.received = std::chrono::steady_clock::now();
  return report;
}

result<void> tcp_session::check_stream(std::uint64_t request) const {
  if (streams_.contains(request)) {
    return fail(error_code::invalid_argument, fmt::format("request {} is still running", request));
  }
  if (streams_.size() >= shared_->options.max_streams) {
    return fail(error_code::resource_exhausted, "too many requests at once on this connection");
  }
  if (ending_) return tl::unexpected<error>(ending_->why);
  const engine_status status = shared_->port.status();
  if (!status.takes_requests()) {
    return fail(error_code::unavailable, status.reason.empty() ? "not ready" : status.reason);
  }
  return {};
}

asio::awaitable<result<openai::parsed_request>> tcp_session::parse(const std::string& payload,
                                                                   request_report& report) {
  const model_card model = shared_->port.model();
  const openai::request_context context{model.id, model.vocab_size, shared_->options.max_logprobs,
                                        shared_->random(), model.aliases};
  const auto came = std::chrono::steady_clock::now();
  result<openai::parsed_request> parsed;
  const std::function<void()> read = [&] {
    auto document = openai::read_body(payload);
    if (document) report.caller = caller_in(*document);
    parsed = document ? openai::parse_generation(std::move(*document), context)
                      : tl::unexpected<error>(document.error());
  };
  if (payload.size() < background_worker::large_text) {
    read();
  } else {
    co_await shared_->background.run(context_, payload.size(), gone_, read);
  }
  if (parsed) shorten_timeout(parsed->generation, std::chrono::steady_clock::now() - came);
  if (parsed && parsed->generation.n != 1)
    parsed =
        fail(error_code::unsupported, "one answer per number: n other than 1 is served over HTTP only", "n");
  if (parsed && !parsed->further.empty())
    parsed =
        fail(error_code::unsupported, "one prompt per number: several are served over HTTP only", "prompt");
  if (parsed && parsed->answer.echo)
    parsed = fail(error_code::unsupported, "echo is served over HTTP only", "echo");
  co_return parsed;
}

tcp_session::stream tcp_session::open_stream(request_report report, std::uint64_t request,
                                             openai::parsed_request parsed) {
  const bool with_logprobs = parsed.generation.sampling.logprobs.has_value();
  auto generation = std::make_shared<const generation_request>(std::move(parsed.generation));
  report.model = shared_->port.model().id;
  report.wishes = wishes_of(*generation, parsed.answer);
  live_generation live(shared_->port, std::move(generation), events_, request);
  report.number = live.ids().front();
  return stream{std::move(live), parsed.answer, with_logprobs,
                std::make_shared<request_tracker>(shared_->options.observers, std::move(report))};
}

void tcp_session::cancel_stream(std::uint64_t request) {
  const auto found = streams_.find(request);
  if (found != streams_.end()) return found->second.live.abort();
  queue(wire::frame_type::error, request,
        wire::error_payload({error_code::not_found, fmt::format("request {} is not running", request)}));
}

void tcp_session::leave_streams(event_mailbox::closer& events) {
  std::vector<followed_request> left;
  if (!has_lost_events_)
    for (const auto& [number, each] : streams_) left.push_back({number, each.tracker});
  streams_.clear();
  if (left.empty()) return;
  are_streams_left_ = true;
  events.let_go();
  shared_->departed.follow(events_, std::move(left));
}

void tcp_session::write_event(const tagged_event& entry) {
  const auto found = streams_.find(entry.stream);
  if (found == streams_.end()) return;
  const stream_event& event = entry.event;
  found->second.tracker->add(0, event);
  if (!event.reasoning.empty() || !event.text.empty() || !event.tokens.empty()) {
    const openai::answer_options& options = found->second.options;
    const wire::delta_options shown{found->second.with_logprobs,
                                    options.return_token_ids,
                                    options.prompt_logprobs,
                                    {shared_->name, options.return_tokens_as_token_ids},
                                    options.include_reasoning};
    queue(wire::frame_type::delta, entry.stream, wire::delta_payload(event, shown));
  }
  if (!event.end) return;
  finished end = *event.end;
  end.tokens = found->second.tracker->tokens(0);
  found->second.live.ended();
  streams_.erase(found);
  queue(wire::frame_type::finished, entry.stream, wire::finished_payload(end));
  end_if_idle();
}

}  // namespace troupe::net
