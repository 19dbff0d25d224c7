#include "actors/net/admin/admin_server.hpp"

#include <utility>

#include "actors/net/admin/admin_connection.hpp"
#include "actors/net/sockets/refused_connection.hpp"
#include "actors/net/sockets/socket_server.hpp"

namespace troupe::net {

result<admin_server> admin_server::start(admin_options options, operator_commands& commands) {
  const listen_options listen = options.listen;
  const std::size_t max_connections = options.limits.max_connections;
  const auto shared = std::make_shared<admin_shared>(std::move(options), commands);
  auto server =
      socket_server::start(listen, max_connections,
                           {[shared](asio::io_context& context, tcp::socket socket) {
                              return std::make_shared<admin_connection>(context, std::move(socket), shared);
                            },
                            refuse_over_http()},
                           when_full::replace);
  if (!server) return tl::unexpected<error>(server.error());
  return admin_server(std::move(*server));
}

admin_server::admin_server(std::unique_ptr<socket_server> server) : server_(std::move(server)) {}
admin_server::~admin_server() = default;
admin_server::admin_server(admin_server&&) noexcept = default;
admin_server& admin_server::operator=(admin_server&&) noexcept = default;

std::uint16_t admin_server::port() const { return server_->port(); }

}  // namespace troupe::net
