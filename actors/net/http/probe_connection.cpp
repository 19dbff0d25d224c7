#include "actors/net/http/probe_connection.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "actors/net/http/http_routes.hpp"

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

probe_connection::probe_connection(asio::io_context& context, tcp::socket socket, const http_options& options,
                                   const engine_port& port, http_response to_others)
    : http_exchange(context, std::move(socket), options.limits,
                    {options.max_header_bytes, options.linger_timeout}),
      port_(port),
      version_(options.version),
      to_others_(std::move(to_others)) {}

asio::awaitable<bool> probe_connection::serve_request() {
  const bool came = co_await wait_for_request(to_ask);
  if (!came && gone_) co_return false;
  if (!came) co_return co_await refuse(to_others_);
  request_parser parser;
  const bool header_read = co_await read_header(parser, to_ask);
  if (!header_read) co_return false;
  request_.keep_alive = false;
  const auto found = find_route(request_.path);
  if (!is_probe(found)) co_return co_await refuse_header(parser, to_others_);
  if (const auto refusal = refuse_route(found, request_)) co_return co_await refuse_header(parser, *refusal);
  const http_response response = answer_get(*found, port_, version_);
  co_return co_await refuse_header(parser, response);
}

}  // namespace troupe::net
