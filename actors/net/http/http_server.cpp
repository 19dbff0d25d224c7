#include "actors/net/http/http_server.hpp"

#include <utility>

#include "actors/net/http/http_connection.hpp"
#include "actors/net/http/http_message.hpp"
#include "actors/net/http/probe_connection.hpp"
#include "actors/net/sockets/refused_connection.hpp"
#include "actors/net/sockets/socket_server.hpp"

namespace troupe::net {

namespace {

http_response of_other_ports() {
  return error_response(404, "this port answers /livez, /readyz, /health and /metrics, and nothing else");
}

result<std::unique_ptr<socket_server>> open_probes(const http_options& options, engine_port& port) {
  if (!options.probes) return std::unique_ptr<socket_server>();
  const connection_factory answer = [options, &port](asio::io_context& context, tcp::socket socket) {
    return std::make_shared<probe_connection>(context, std::move(socket), options, port, of_other_ports());
  };
  return socket_server::start(*options.probes, http_server::most_probes, {answer, refuse_over_http()});
}

}  // namespace

result<http_server> http_server::start(http_options options, engine_port& port) {
  auto probes = open_probes(options, port);
  if (!probes) return tl::unexpected<error>(probes.error());
  const listen_options listen = options.listen;
  const std::size_t max_connections = options.limits.max_connections;
  auto shared = std::make_shared<http_shared>(std::move(options), port);
  auto server = socket_server::start(
      listen, max_connections,
      {[shared](asio::io_context& context, tcp::socket socket) {
         return std::make_shared<http_connection>(context, std::move(socket), shared);
       },
       [shared](asio::io_context& context, tcp::socket socket) {
         return std::make_shared<probe_connection>(context, std::move(socket), shared->options, shared->port,
                                                   error_response(too_many_connections));
       }},
      when_full::replace, [shared] { shared->departed.end(); });
  if (!server) return tl::unexpected<error>(server.error());
  return http_server(std::move(shared), std::move(*server), std::move(*probes));
}

http_server::http_server(std::shared_ptr<http_shared> shared, std::unique_ptr<socket_server> server,
                         std::unique_ptr<socket_server> probes)
    : shared_(std::move(shared)), server_(std::move(server)), probes_(std::move(probes)) {}
http_server::~http_server() = default;
http_server::http_server(http_server&&) noexcept = default;
http_server& http_server::operator=(http_server&&) noexcept = default;

void http_server::change(const connection_limits& limits) {
  server_->post([shared = shared_, server = server_.get(), limits] {
    shared->options.limits = limits;
    server->set_max_connections(limits.max_connections);
  });
}

std::uint16_t http_server::port() const { return server_->port(); }
std::uint16_t http_server::probe_port() const { return probes_ ? probes_->port() : 0; }
std::size_t http_server::connections() const { return server_->connections(); }
double http_server::cpu_seconds() const { return server_->cpu_seconds(); }
void http_server::drain(std::function<void()> done) { server_->drain(std::move(done)); }

void http_server::close(std::chrono::milliseconds within, const error& why) {
  server_->close(within, why);
  if (probes_) probes_->close();
}

}  // namespace troupe::net
