#include "actors/clients/client_calls.hpp"

#include <utility>

#include "metrics/engine_metrics.hpp"
#include "runtime/openai/error_body.hpp"

namespace troupe {
namespace {

const char* const lost = "the service ended before the request did";

}  // namespace

std::shared_ptr<client_stream> client_stream::open(request_id id, net::stream_sink sink,
                                                   std::shared_ptr<metrics::engine_metrics> metrics,
                                                   const std::shared_ptr<open_clients>& clients,
                                                   const actor_port* port) {
  const std::shared_ptr<client_stream> opened(
      new client_stream(id, std::move(sink), std::move(metrics), clients));
  clients->opened(id, opened, port);
  return opened;
}

client_stream::client_stream(request_id id, net::stream_sink sink,
                             std::shared_ptr<metrics::engine_metrics> metrics,
                             std::shared_ptr<open_clients> clients)
    : id_(id), sink_(std::move(sink)), metrics_(std::move(metrics)), clients_(std::move(clients)) {}

client_stream::~client_stream() {
  fail(error{error_code::unavailable, lost});
  clients_->closed(id_);
}

// The sink goes with the last event: it may hold a connection, which would otherwise live as long as this.
bool client_stream::push(stream_event event) {
  const std::lock_guard lock(mutex_);
  if (!sink_) return true;
  if (!event.end) {
    const bool is_told = call_back(sink_, std::move(event));
    if (!is_told) sink_ = nullptr;
    return is_told;
  }
  if (event.end->reason == finish_reason::error)
    metrics_->add_request_error(
        openai::http_status(event.end->failure ? event.end->failure->code : error_code::internal));
  const net::stream_sink sink = std::exchange(sink_, nullptr);
  return call_back(sink, std::move(event));
}

void client_stream::fail(error failure) {
  stream_event event;
  event.id = id_;
  event.end.emplace();
  event.end->reason = finish_reason::error;
  event.end->failure = std::move(failure);
  push(std::move(event));
}

text_call::text_call(net::tokenize_request request, tokenize_callback reply)
    : input_(std::move(request)), tokenized_(std::move(reply)) {}

text_call::text_call(std::vector<token_id> tokens, detokenize_callback reply)
    : input_(std::move(tokens)), detokenized_(std::move(reply)) {}

text_call::~text_call() { fail(error{error_code::unavailable, lost}); }

void text_call::reply(result<net::tokenize_reply> answer) {
  if (const auto callback = std::exchange(tokenized_, nullptr)) call_back(callback, std::move(answer));
}

void text_call::reply(result<std::string> answer) {
  if (const auto callback = std::exchange(detokenized_, nullptr)) call_back(callback, std::move(answer));
}

void text_call::fail(const error& failure) {
  reply(result<net::tokenize_reply>(tl::unexpected<error>(failure)));
  reply(result<std::string>(tl::unexpected<error>(failure)));
}

}  // namespace troupe
