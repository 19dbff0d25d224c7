#include "actors/net/tcp/tcp_server.hpp"

#include <string>
#include <utility>

#include "actors/net/sockets/refused_connection.hpp"
#include "actors/net/sockets/socket_server.hpp"
#include "actors/net/tcp/tcp_session.hpp"
#include "runtime/wire/frame.hpp"
#include "runtime/wire/payloads.hpp"

namespace troupe::net {

result<tcp_server> tcp_server::start(tcp_options options, engine_port& port) {
  const auto refusal = [] {
    std::string frame;
    wire::append_frame(frame, wire::frame_type::error, 0, wire::error_payload(too_many_connections));
    return frame;
  };
  const listen_options listen = options.listen;
  const std::size_t max_connections = options.limits.max_connections;
  auto shared = std::make_shared<tcp_shared>(std::move(options), port);
  auto server =
      socket_server::start(listen, max_connections,
                           {[shared](asio::io_context& context, tcp::socket socket) {
                              return std::make_shared<tcp_session>(context, std::move(socket), shared);
                            },
                            refuse_with(refusal)},
                           when_full::replace, [shared] { shared->departed.end(); });
  if (!server) return tl::unexpected<error>(server.error());
  return tcp_server(std::move(shared), std::move(*server));
}

tcp_server::tcp_server(std::shared_ptr<tcp_shared> shared, std::unique_ptr<socket_server> server)
    : shared_(std::move(shared)), server_(std::move(server)) {}
tcp_server::~tcp_server() = default;
tcp_server::tcp_server(tcp_server&&) noexcept = default;
tcp_server& tcp_server::operator=(tcp_server&&) noexcept = default;

void tcp_server::change(const connection_limits& limits) {
  server_->post([shared = shared_, server = server_.get(), limits] {
    shared->options.limits = limits;
    server->set_max_connections(limits.max_connections);
  });
}

std::uint16_t tcp_server::port() const { return server_->port(); }
std::size_t tcp_server::connections() const { return server_->connections(); }
void tcp_server::drain(std::function<void()> done) { server_->drain(std::move(done)); }
void tcp_server::close(std::chrono::milliseconds within, const error& why) { server_->close(within, why); }

}  // namespace troupe::net
