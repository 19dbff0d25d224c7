// The TCP gateway: the framed protocol of docs/protocol.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "actors/net/engine_port.hpp"
#include "actors/net/options.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

class socket_server;
struct tcp_shared;

// Calls from any thread but the server's own.
class tcp_server {
 public:
  // Listens and serves at once, on its own thread. `port` must outlive the server.
  // Errors: io_error (a port in use), invalid_argument (an unknown host), naming port and host.
  static result<tcp_server> start(tcp_options options, engine_port& port);
  ~tcp_server();  // close()
  tcp_server(tcp_server&&) noexcept;
  tcp_server& operator=(tcp_server&&) noexcept;

  std::uint16_t port() const;  // the one that is listened on
  // Connections and requests to come go by these limits.
  void change(const connection_limits& limits);
  std::size_t connections() const;  // open at the moment
  // Connections without a stream end now, the others after their last stream; `done` is called once, on the
  // server's thread, when none is left.
  void drain(std::function<void()> done);
  // Takes no connection any more, lets answers that end within this time reach their clients, aborts what is
  // under way then, ends every connection and joins the thread. Twice is once.
  void close(std::chrono::milliseconds within = {}, const error& why = {});

 private:
  tcp_server(std::shared_ptr<tcp_shared> shared, std::unique_ptr<socket_server> server);
  std::shared_ptr<tcp_shared> shared_;
  std::unique_ptr<socket_server> server_;
};

}  // namespace troupe::net
