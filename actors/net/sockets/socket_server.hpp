// An io_context on its own thread, one listening socket, and the connections that came from it.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "actors/net/options.hpp"
#include "actors/net/sockets/connection.hpp"
#include "actors/net/sockets/listener.hpp"
#include "actors/net/telemetry/limited_log.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// What becomes of a client beyond max_connections: it is refused; or another gives way to it, the oldest of
// those that are unauthenticated, else the one that is idle for the longest time.
enum class when_full { refuse, replace };

class socket_server {
 public:
  // So many that are refused or give way are told so at a time; of more the oldest has had its time.
  static constexpr std::size_t most_refused = 64;
  // What serves a client: one that is taken, and one beyond max_connections, which is to be gone soon.
  struct connection_makers {
    connection_factory taken, refused;
  };

  // `at_end`: called on the server's thread when it has served its last client. Errors: those of
  // open_listener.
  static result<std::unique_ptr<socket_server>> start(
      listen_options options, std::size_t max_connections, connection_makers make,
      when_full full = when_full::refuse, std::function<void()> at_end = [] {});
  ~socket_server();  // close()
  socket_server(const socket_server&) = delete;
  socket_server& operator=(const socket_server&) = delete;

  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return open_.load(); }  // any thread
  // What its thread has computed, in seconds. Any thread; not after close().
  double cpu_seconds() const;

  // Does `work` on the server's thread, soon; not after close(). Any thread.
  void post(std::function<void()> work) { asio::post(context_, std::move(work)); }
  // On the server's thread. Connections that are open stay.
  void set_max_connections(std::size_t most) { max_connections_ = most; }

  // Any thread but the server's own.
  // Ends idle connections now and the others after their answer, new ones after their first; `done` is called
  // once, when none is left.
  void drain(std::function<void()> done);
  // Takes no connection any more, lets answers that end within this time reach their clients, tells `why` to
  // those whose requests have not come whole, ends everything else and joins the thread. Twice is once.
  void close(std::chrono::milliseconds within = {}, const error& why = {});

 private:
  struct closing {
    ending how;                        // of each client
    std::chrono::milliseconds within;  // 0: all end now
  };

  socket_server(listen_options options, std::size_t max_connections, connection_makers make, when_full full,
                std::function<void()> at_end);
  void serve();
  void admit(tcp::socket socket);  // throws where the client cannot be served
  void serve_client(std::shared_ptr<connection> client, bool refused);
  void add_refused(std::shared_ptr<connection> client);
  bool is_full() const;
  // Where another client gives way, who says nothing is told nothing.
  bool refuses() const { return is_full() && !dispensable().client; }
  struct place {
    std::shared_ptr<connection> client;  // null: nobody's
    const char* why = nullptr;           // what is logged
  };
  place dispensable() const;  // whose client is to give way
  // Of those who have a place, and whom `since` has something of.
  using time_of = std::optional<std::chrono::steady_clock::time_point> (connection::*)() const;
  std::shared_ptr<connection> oldest_by(time_of since) const;
  void tell_full(const char* what_follows);
  bool is_refused(const std::shared_ptr<connection>& client) const;
  bool make_room();  // false: all who are there stay
  void drop(std::shared_ptr<connection> client);
  void on_end(const std::shared_ptr<connection>& client);
  // Everybody has so long from now on.
  void bound_end();
  void end_clients();

  listen_options options_;
  std::size_t max_connections_;
  connection_makers make_;
  when_full full_;
  std::function<void()> at_end_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> open_for_calls_{context_.get_executor()};
  tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  std::unordered_set<std::shared_ptr<connection>> clients_;
  std::vector<std::shared_ptr<connection>> refused_;  // of these, who has no place, longest first
  limited_log faults_;
  limited_log refusals_;
  std::function<void()> drained_;
  asio::steady_timer end_{context_};  // of those that are not over when it is to close
  bool draining_ = false;
  std::optional<closing> closing_;
  bool is_end_bound_ = false;
  std::atomic<std::size_t> open_ = 0;
  std::thread thread_;
  clockid_t clock_{};  // of what it computes
};

}  // namespace troupe::net
