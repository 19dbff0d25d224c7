#include "actors/clients/actor_port.hpp"

#include <chrono>
#include <utility>

#include "actors/lost_part.hpp"
#include "actors/net/call_back.hpp"
#include "actors/time_of_day.hpp"
#include "actors/tokenizer/prompt_size.hpp"

namespace troupe {
namespace {

// Encoded in some ten milliseconds at most.
constexpr std::size_t long_prompt = std::size_t{16} << 10U;

}  // namespace

// Counts that differ by the number of short shards fall to the same one.
std::vector<request_id> request_numbers::next(const generation_request& request) {
  const std::uint64_t last = shards_ - 1;
  const auto n = static_cast<std::uint64_t>(request.n);
  std::vector<request_id> ids;
  ids.reserve(n);
  if (prompt_bytes(request) > long_prompt) {
    const std::uint64_t first = long_.fetch_add(n, std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < n; ++i) ids.push_back((first + i) * shards_ + last);
    return ids;
  }
  const std::uint64_t counts = n == 1 ? 1 : n * last;
  const std::uint64_t first = short_.fetch_add(counts, std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t count = first + i * last;
    ids.push_back(count / last * shards_ + count % last);
  }
  return ids;
}

actor_port::actor_port(gateway_actor gateway, port_parts parts)
    : gateway_(std::move(gateway)), parts_(std::move(parts)) {}

std::vector<request_id> actor_port::generate_choices(generation_request_ptr request, net::choice_sink sink) {
  if (auto fault = net::fault_of(request)) {
    call_back(sink, 0, net::refused_stream(std::move(*fault)));
    return {0};
  }
  std::vector<request_id> ids = parts_.numbers->next(*request);
  const auto shared = std::make_shared<const net::choice_sink>(std::move(sink));
  const std::int64_t asked_at = time_of_day();
  for (std::int32_t index = 0; index < request->n; ++index) {
    const request_id id = ids[static_cast<std::size_t>(index)];
    client_stream_ptr stream = client_stream::open(
        id, [shared, index](stream_event event) { (*shared)(index, std::move(event)); }, parts_.metrics,
        parts_.clients, this);
    if (has_ended_.load()) {
      stream->fail(lost_part(error_code::unavailable));
      continue;
    }
    caf::anon_send(gateway(), msg::open_stream{id, index, ids.front(), asked_at}, std::move(stream), request);
  }
  return ids;
}

// A stream that is opened meanwhile is known before it asks whether the port has ended.
void actor_port::end_streams(const error& failure) {
  has_ended_.store(true);
  parts_.clients->end_all_of(this, failure);
}

void actor_port::abort(request_id id) {
  parts_.clients->left(id);
  caf::anon_send(gateway(), msg::abort{id});
}

void actor_port::tokenize(net::tokenize_request request,
                          std::function<void(result<net::tokenize_reply>)> reply) {
  auto call = std::make_shared<text_call>(std::move(request), std::move(reply));
  caf::anon_send(parts_.directory->current()->text_worker, msg::convert_text{time_of_day()},
                 text_call_ptr(std::move(call)));
}

void actor_port::detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) {
  auto call = std::make_shared<text_call>(std::move(tokens), std::move(reply));
  caf::anon_send(parts_.directory->current()->text_worker, msg::convert_text{},
                 text_call_ptr(std::move(call)));
}

void actor_port::describe(request_id id, std::function<void(std::optional<request_state>)> reply) {
  auto call = std::make_shared<describe_call>(std::move(reply), std::nullopt);
  caf::anon_send(parts_.directory->current()->scheduler, msg::describe{id},
                 describe_call_ptr(std::move(call)));
}

void actor_port::reset_prefix_cache(std::function<void(bool)> reply) {
  auto call = std::make_shared<reset_call>(std::move(reply), false);
  caf::anon_send(parts_.directory->current()->kv_cache, msg::reset_prefix_cache{},
                 reset_call_ptr(std::move(call)));
}

net::engine_status actor_port::status() const {
  return parts_.board->status(std::chrono::steady_clock::now());
}

std::string actor_port::metrics_text() const {
  const net::engine_status now = status();
  parts_.metrics->set_health(now.live, now.live && now.ready);
  parts_.metrics->set_actors(parts_.system->registry().running());
  return parts_.metrics->text();
}

std::string actor_port::token_text(token_id id) const {
  if (id < 0 || id >= parts_.vocabulary->vocab_size()) return {};
  return std::string(parts_.vocabulary->piece(id));
}

}  // namespace troupe
