#include "actors/net/http/loading_server.hpp"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/net/closed_port.hpp"
#include "actors/net/http/http_server.hpp"
#include "actors/net/sockets/kept_listener.hpp"

namespace troupe::net {

struct loading_server::state {
  state(model_card model, std::function<std::string()> metrics_text)
      : port([this] { return status(); }, std::move(model), std::move(metrics_text)) {}

  engine_status status() {
    const std::lock_guard lock(telling);
    return {.live = !stall, .ready = false, .reason = stall.value_or(reason)};
  }

  std::mutex telling;
  std::string reason = "loading";
  std::optional<std::string> stall;
  closed_port port;
  std::shared_ptr<kept_listener> listener = std::make_shared<kept_listener>();
  std::shared_ptr<kept_listener> probe_listener;
  std::optional<http_server> server;  // ends before the port that it calls
};

loading_server::loading_server(std::unique_ptr<state> parts) : state_(std::move(parts)) {}
loading_server::~loading_server() {
  constexpr std::chrono::milliseconds to_read{250};
  if (state_) state_->server->close(to_read, {error_code::unavailable, "loading"});
}
loading_server::loading_server(loading_server&&) noexcept = default;
loading_server& loading_server::operator=(loading_server&&) noexcept = default;

result<loading_server> loading_server::start(http_options options, model_card model,
                                             std::function<std::string()> metrics_text) {
  auto parts = std::make_unique<state>(std::move(model), std::move(metrics_text));
  options.listen.kept = parts->listener;
  if (options.probes) options.probes->kept = parts->probe_listener = std::make_shared<kept_listener>();
  result<http_server> server = http_server::start(std::move(options), parts->port);
  if (!server) return tl::unexpected<error>(server.error());
  parts->server.emplace(std::move(*server));
  return loading_server(std::move(parts));
}

std::shared_ptr<kept_listener> loading_server::listener() const { return state_->listener; }
std::shared_ptr<kept_listener> loading_server::probe_listener() const { return state_->probe_listener; }
std::uint16_t loading_server::port() const { return state_->server->port(); }
double loading_server::cpu_seconds() const { return state_->server->cpu_seconds(); }

void loading_server::show(std::int64_t number, std::int64_t count, const std::string& what) {
  const std::lock_guard lock(state_->telling);
  state_->reason = fmt::format("loading [{}/{}] {}", number, count, what);
}

void loading_server::stall(std::optional<std::string> why) {
  const std::lock_guard lock(state_->telling);
  state_->stall = std::move(why);
}

}  // namespace troupe::net
