#include "actors/net/probe_connection.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "actors/net/refused_connection.hpp"

namespace troupe::net {
namespace {

constexpr std::chrono::milliseconds to_ask{1'000};

bool is_probe(const std::optional<route>& found) {
  if (!found) return false;
  switch (found->target) {
    case resource::health:
    case resource::livez:
    case resource::readyz:
    case resource::metrics:
      return true;
    default:
      return false;
  }
}

}  // namespace

probe_connection::probe_connection(asio::io_context& context, tcp::socket socket,
                                   std::shared_ptr<http_shared> shared)
    : http_exchange(context, std::move(socket), shared->options.limits,
                    {shared->options.max_header_bytes, shared->options.linger_timeout}),
      shared_(std::move(shared)) {}

asio::awaitable<bool> probe_connection::serve_request() {
  const http_response full = error_response(too_many_connections);
  const bool came = co_await wait_for_request(to_ask);
  if (!came && gone_) co_return false;
  if (!came) co_return co_await refuse(full);
  request_parser parser;
  const bool header_read = co_await read_header(parser, to_ask);
  if (!header_read) co_return false;
  request_.keep_alive = false;
  const auto found = find_route(request_.path);
  if (!is_probe(found)) co_return co_await refuse_header(parser, full);
  if (const auto refusal = refuse_route(found, request_)) co_return co_await refuse_header(parser, *refusal);
  const http_response response = answer_get(*found, shared_->port, shared_->options.version);
  co_return co_await refuse_header(parser, response);
}

}  // namespace troupe::net
