// A company behind its ports, from its warm-up to its end: who may end it, who looks after it, who gives it
// new settings.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "actors/company.hpp"
#include "actors/net/admin/admin_server.hpp"
#include "actors/net/keys_in_force.hpp"
#include "actors/net/telemetry/request_log.hpp"
#include "config/load.hpp"
#include "main/service/admin_service.hpp"
#include "main/service/end_guard.hpp"
#include "main/service/reloader.hpp"
#include "main/service/service_manager.hpp"
#include "main/service/signal_count.hpp"
#include "main/service/signals.hpp"
#include "main/service/stop_request.hpp"

namespace troupe::cli {

// What HTTP listens on.
struct http_listeners {
  std::shared_ptr<net::kept_listener> requests;
  std::shared_ptr<net::kept_listener> probes;  // null where they have no port
};

// Who may come in.
struct service_keys {
  std::shared_ptr<net::keys_in_force> operators;  // null where they have no port
  std::shared_ptr<net::keys_in_force> clients;    // never null
};

class running_service {
 public:
  // Hears signals from here on. `settings`: those of the start, as read from `sources`; `requests`: hears of
  // each request. `signals` must outlive the service.
  running_service(std::unique_ptr<company> served, signal_watch& signals, const settings_at_start& settings,
                  service_keys keys, std::shared_ptr<net::request_log> requests);

  // The gateways answer 503 until the company may serve; HTTP has the sockets of whoever had them before.
  // Errors: the exit code, where a port cannot be had.
  tl::expected<void, int> open_ports(const http_listeners& sockets);
  // Until it is to end. Gives the exit code. `begun`: when the program was started.
  int run(std::chrono::steady_clock::time_point begun);

 private:
  // False where the end has begun already: then nothing changes.
  bool begin_end(std::optional<std::chrono::milliseconds> grace = {});
  void on_signal(int signal);
  std::chrono::milliseconds grace() const;
  tl::expected<void, int> open_gateways(const http_listeners& sockets);
  tl::expected<void, int> open_operators_port();
  result<void> wait_ready();
  int finish(const std::optional<std::string>& failure);
  void tell_end(std::chrono::milliseconds time) const;
  void tell_outcome(drain_outcome outcome) const;

  const config::settings settings_;  // of the start
  const std::shared_ptr<net::request_log> requests_;
  stop_request stop_;                       // outlives the company, which may tell it until its end
  std::atomic<bool> is_cut_short_ = false;  // by the second signal
  std::unique_ptr<company> served_;
  end_guard guard_;
  signal_count signals_;
  scoped_handler on_signal_;
  liveness_watch watch_;
  const service_keys keys_;
  reloader reloader_;
  scoped_hangup on_hangup_;
  std::optional<admin_service> operators_;
  std::optional<net::admin_server> operators_port_;
};

}  // namespace troupe::cli
