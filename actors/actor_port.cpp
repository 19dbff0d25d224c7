#include "actors/actor_port.hpp"

#include <chrono>
#include <utility>

#include "actors/prompt_size.hpp"

namespace troupe {
namespace {

// Encoded in some ten milliseconds at most.
constexpr std::size_t long_prompt = std::size_t{16} << 10U;

}  // namespace

request_id request_numbers::next(const generation_request& request) {
  const std::uint64_t last = shards_ - 1;
  if (prompt_bytes(request) > long_prompt)
    return long_.fetch_add(1, std::memory_order_relaxed) * shards_ + last;
  const std::uint64_t count = short_.fetch_add(1, std::memory_order_relaxed);
  return count / last * shards_ + count % last;
}

actor_port::actor_port(gateway_actor gateway, port_parts parts)
    : gateway_(std::move(gateway)), parts_(std::move(parts)) {}

request_id actor_port::generate(generation_request_ptr request, net::stream_sink sink) {
  const request_id id = parts_.numbers->next(*request);
  auto stream = std::make_shared<client_stream>(id, std::move(sink));
  caf::anon_send(gateway_, msg::open_stream{id}, client_stream_ptr(std::move(stream)), std::move(request));
  return id;
}

void actor_port::abort(request_id id) { caf::anon_send(gateway_, msg::abort{id}); }

void actor_port::tokenize(net::tokenize_request request,
                          std::function<void(result<net::tokenize_reply>)> reply) {
  auto call = std::make_shared<text_call>(std::move(request), std::move(reply));
  caf::anon_send(parts_.text_worker, msg::convert_text{}, text_call_ptr(std::move(call)));
}

void actor_port::detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) {
  auto call = std::make_shared<text_call>(std::move(tokens), std::move(reply));
  caf::anon_send(parts_.text_worker, msg::convert_text{}, text_call_ptr(std::move(call)));
}

void actor_port::describe(request_id id, std::function<void(std::optional<request_state>)> reply) {
  auto call = std::make_shared<describe_call>(std::move(reply), std::nullopt);
  caf::anon_send(parts_.scheduler, msg::describe{id}, describe_call_ptr(std::move(call)));
}

void actor_port::reset_prefix_cache(std::function<void(bool)> reply) {
  auto call = std::make_shared<reset_call>(std::move(reply), false);
  caf::anon_send(parts_.kv_cache, msg::reset_prefix_cache{}, reset_call_ptr(std::move(call)));
}

net::engine_status actor_port::status() const {
  return parts_.board->status(std::chrono::steady_clock::now());
}

std::string actor_port::metrics_text() const {
  parts_.metrics->set_actors(gateway_.home_system().registry().running());
  return parts_.metrics->text();
}

std::string actor_port::token_text(token_id id) const {
  if (id < 0 || id >= parts_.vocabulary->vocab_size()) return {};
  return std::string(parts_.vocabulary->piece(id));
}

}  // namespace troupe
