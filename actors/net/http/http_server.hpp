// The HTTP gateway: OpenAI's API, health, models and metrics over HTTP/1.1.
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
struct http_shared;

// Calls from any thread but the server's own.
class http_server {
 public:
  static constexpr std::size_t most_probes = 32;  // at once on their port

  // Listens and serves at once, on its own thread. `port` must outlive the server.
  // Errors: io_error (a port in use), invalid_argument (an unknown host), naming port and host. The probes'
  // port, where one is wanted, has a thread of its own, and is served until the end.
  static result<http_server> start(http_options options, engine_port& port);
  ~http_server();  // close()
  http_server(http_server&&) noexcept;
  http_server& operator=(http_server&&) noexcept;

  // Those that are listened on; 0 where there is none for probes.
  std::uint16_t port() const;
  std::uint16_t probe_port() const;
  // Connections and requests to come go by these limits.
  void change(const connection_limits& limits);
  std::size_t connections() const;  // open at the moment
  double cpu_seconds() const;       // that its thread has used; not after close()
  // Idle connections end now, the others after the answer under way; `done` is called once, on the server's
  // thread, when none is left.
  void drain(std::function<void()> done);
  // Takes no connection any more, lets answers that end within this time reach their clients, aborts what is
  // under way then, ends every connection and joins the thread. Twice is once.
  void close(std::chrono::milliseconds within = {}, const error& why = {});

 private:
  http_server(std::shared_ptr<http_shared> shared, std::unique_ptr<socket_server> server,
              std::unique_ptr<socket_server> probes);
  std::shared_ptr<http_shared> shared_;
  std::unique_ptr<socket_server> server_;
  std::unique_ptr<socket_server> probes_;  // null: there is no such port
};

}  // namespace troupe::net
