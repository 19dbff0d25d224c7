#include "actors/net/admin_server.hpp"

#include <utility>

#include "actors/net/admin_connection.hpp"
#include "actors/net/http_message.hpp"
#include "actors/net/socket_server.hpp"

namespace troupe::net {

result<admin_server> admin_server::start(const listen_options& options, admin_port& port) {
  const auto refusal = [] {
    request_line any;
    any.keep_alive = false;
    return serialize(error_response({error_code::unavailable, "too many connections at the moment"}), any);
  };
  auto strangers = std::make_shared<stranger_log>();
  auto server = socket_server::start(
      options, refusal, [&port, strangers](asio::io_context& context, tcp::socket socket) {
        return std::make_shared<admin_connection>(context, std::move(socket), port, strangers);
      });
  if (!server) return tl::unexpected<error>(server.error());
  return admin_server(std::move(*server));
}

admin_server::admin_server(std::unique_ptr<socket_server> server) : server_(std::move(server)) {}
admin_server::~admin_server() = default;
admin_server::admin_server(admin_server&&) noexcept = default;
admin_server& admin_server::operator=(admin_server&&) noexcept = default;

std::uint16_t admin_server::port() const { return server_->port(); }

}  // namespace troupe::net
