// The HTTP port while the model loads and there is no company yet: /livez is well unless the loading gets
// nowhere, /readyz and every request are answered 503 with how far it is.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/net/engine_port.hpp"
#include "actors/net/options.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

class loading_server {
 public:
  // Listens at once. `model` has the names that it will be served under; `metrics_text` is called on any
  // thread. Errors: those of http_server::start().
  static result<loading_server> start(http_options options, model_card model,
                                      std::function<std::string()> metrics_text);
  ~loading_server();  // answers those whose requests are under way
  loading_server(loading_server&&) noexcept;
  loading_server& operator=(loading_server&&) noexcept;

  std::uint16_t port() const;
  double cpu_seconds() const;  // that its thread has used
  // For the company's gateway, which takes the clients that come next; null where probes have no port.
  std::shared_ptr<kept_listener> listener() const;
  std::shared_ptr<kept_listener> probe_listener() const;
  // From now on "loading [number/count] what".
  void show(std::int64_t number, std::int64_t count, const std::string& what);
  // From now on it is not live, and why; nothing: it is.
  void stall(std::optional<std::string> why);

 private:
  struct state;
  explicit loading_server(std::unique_ptr<state> parts);
  std::unique_ptr<state> state_;
};

}  // namespace troupe::net
