// The operators' port: HTTP/1.1, and nothing without the key.
#pragma once
#include <cstdint>
#include <memory>

#include "actors/net/admin/operator_commands.hpp"
#include "actors/net/options.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

class socket_server;

class admin_server {
 public:
  // Listens and serves at once, on its own thread. `commands` must outlive the server.
  // Errors: io_error (a port in use), invalid_argument (an unknown host), naming port and host.
  static result<admin_server> start(admin_options options, operator_commands& commands);
  ~admin_server();  // ends every connection and joins the thread
  admin_server(admin_server&&) noexcept;
  admin_server& operator=(admin_server&&) noexcept;

  std::uint16_t port() const;  // the one that is listened on

 private:
  explicit admin_server(std::unique_ptr<socket_server> server);
  std::unique_ptr<socket_server> server_;
};

}  // namespace troupe::net
