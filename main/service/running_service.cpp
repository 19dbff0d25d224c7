#include "main/service/running_service.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "actors/net/last_words.hpp"
#include "actors/net/sockets/kept_listener.hpp"
#include "config/values.hpp"
#include "main/exit_code.hpp"
#include "main/log/logging.hpp"
#include "main/screen/progress.hpp"
#include "main/screen/terminal.hpp"
#include "main/setup/company_options.hpp"
#include "runtime/isolation/exit_with_children.hpp"

namespace troupe::cli {
namespace {

// From the end of the grace to the end of the process, in which every actor has to end.
constexpr std::chrono::seconds to_end{4};
constexpr const char* does_not_end = "the service does not end, since an actor does not";

// As it stands in a URL.
std::string in_url(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

running_service::running_service(std::unique_ptr<company> served, signal_watch& signals,
                                 const settings_at_start& settings, service_keys keys,
                                 std::shared_ptr<net::request_log> requests)
    : settings_(settings.values),
      requests_(std::move(requests)),
      served_(std::move(served)),
      guard_([this] { served_->end_streams(); }),
      on_signal_(signals, [this](int signal, int) { on_signal(signal); }),
      watch_(
          [this] { return served_->status(); }, patience_of(settings.values),
          [this](std::string why) { guard_.end_by(end_guard::clock::now(), exit_internal, std::move(why)); }),
      keys_(std::move(keys)),
      reloader_(settings, {*served_, watch_, stop_, *requests_, keys_.operators.get(), *keys_.clients}),
      on_hangup_(signals, [this] {
        spdlog::info("SIGHUP asks for a reload");
        reloader_.ask([](const auto&) {});
      }) {
  served_->on_failure([this](const std::string& actor) { stop_.tell(actor); });
}

bool running_service::begin_end(std::optional<std::chrono::milliseconds> grace) {
  if (!stop_.tell({}, grace)) return false;
  served_->interrupt_wait();  // where it warms up still
  return true;
}

// The first signal asks for an orderly end, the second ends the grace (whoever has asked for it), the third
// ends the process.
void running_service::on_signal(int signal) {
  const std::optional<int> count = signals_.add(std::chrono::steady_clock::now());
  if (!count) return;
  if (*count > 2) exit_with_children(128 + signal);
  if (signal == SIGHUP) spdlog::info("SIGHUP: the terminal has gone, which ends the service as SIGTERM does");
  if (*count == 2) {
    is_cut_short_ = true;
    spdlog::warn("second signal: ending at once");
    served_->interrupt();
    guard_.end_by(end_guard::clock::now() + to_end, 128 + signal, does_not_end);
    return;
  }
  if (!begin_end())
    spdlog::info("the service is ending already: running requests go on; another signal ends them");
}

std::chrono::milliseconds running_service::grace() const {
  return stop_.grace().value_or(reloader_.in_force().shutdown_grace);
}

tl::expected<void, int> running_service::open_ports(const http_listeners& sockets) {
  if (const auto open = open_gateways(sockets); !open) return open;
  if (!keys_.operators) return {};
  return open_operators_port();
}

tl::expected<void, int> running_service::open_gateways(const http_listeners& sockets) {
  auto http_options = to_http_options(settings_);
  http_options.listen.kept = sockets.requests;
  if (http_options.probes) http_options.probes->kept = sockets.probes;
  http_options.observers.push_back(requests_);
  http_options.keys = keys_.clients;
  const auto http = served_->serve_http(http_options);
  if (!http) return tl::unexpected(report_listening(http.error(), "--port"));
  spdlog::info("HTTP on http://{}:{}", in_url(settings_.host), *http);
  spdlog::info("clients need {}",
               keys_.clients->empty() ? "no key" : fmt::format("one of {} keys", keys_.clients->size()));
  if (sockets.probes) spdlog::info("probes on http://{}:{}", in_url(settings_.host), sockets.probes->port());
  if (settings_.tcp_port < 0) return {};
  auto tcp_options = to_tcp_options(settings_);
  tcp_options.observers.push_back(requests_);
  tcp_options.keys = keys_.clients;
  const auto tcp = served_->serve_tcp(tcp_options);
  if (!tcp) return tl::unexpected(report_listening(tcp.error(), "--tcp-port"));
  spdlog::info("TCP on {}:{}", in_url(settings_.host), *tcp);
  return {};
}

tl::expected<void, int> running_service::open_operators_port() {
  const auto end = [this](std::optional<std::chrono::milliseconds> wanted) {
    const bool is_first = begin_end(wanted);
    return net::drain_order{grace(), is_first};
  };
  operators_.emplace(*served_, *keys_.operators, end, reloader_);
  auto server = net::admin_server::start(to_admin_options(settings_), *operators_);
  if (!server) return tl::unexpected(report_listening(server.error(), "--admin-port"));
  spdlog::info("operators on http://{}:{}/admin", in_url(settings_.admin_host), server->port());
  operators_port_.emplace(std::move(*server));
  return {};
}

// A bar on a terminal; elsewhere the log has a line per item.
result<void> running_service::wait_ready() {
  const auto tell = [](const warm_up_progress& item) {
    tell_status(fmt::format("warming up [{}/{}] {}", item.done, item.total, item.what));
  };
  if (!can_be_drawn_over(STDERR_FILENO)) return served_->wait_ready(tell);
  const quiet_log quiet;
  progress_bar bar(true);
  return served_->wait_ready([&](const auto& item) {
    tell(item);
    bar.update(item.done, item.total, "warm-up: " + item.what);
  });
}

int running_service::run(std::chrono::steady_clock::time_point begun) {
  const auto ready = wait_ready();
  if (ready) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    spdlog::info("ready after {:.2f} s", took.count());
    watch_.line().ready();
  } else if (!stop_.told()) {
    return report(ready.error());
  }
  return finish(stop_.wait());
}

int running_service::finish(const std::optional<std::string>& failure) {
  if (failure) {
    spdlog::critical("the {} failed; ending", *failure);
    watch_.line().stopping(to_end, "the " + *failure + " failed");
    guard_.end_by(end_guard::clock::now() + to_end, exit_internal, does_not_end);
    served_->stop([this] {
      served_->end_streams();
      spdlog::warn("ended without work that nobody waits for any more");
      exit_with_children(exit_internal);
    });
    return exit_internal;
  }
  const std::chrono::milliseconds time = grace();
  const std::chrono::milliseconds until_forced = time + to_end;
  watch_.line().stopping(until_forced + to_end);
  tell_end(time);
  guard_.end_by(end_guard::clock::now() + until_forced, exit_internal, does_not_end);
  const drain_outcome outcome = served_->drain(time);
  served_->stop([this, outcome] {
    tell_outcome(outcome);
    exit_with_children(exit_ok);
  });
  tell_outcome(outcome);
  return exit_ok;
}

void running_service::tell_end(std::chrono::milliseconds time) const {
  if (is_cut_short_) return;  // which the log has said
  const std::chrono::duration<double> to_finish = time - net::kept_for_last_words(time);
  spdlog::info("ending within {}: running requests have {:.4g} s to finish; a second signal cuts them off",
               config::duration_text(time), to_finish.count());
}

void running_service::tell_outcome(drain_outcome outcome) const {
  const bool is_count_known = outcome == drain_outcome::requests_cut && served_->requests_cut() > 0;
  spdlog::log(outcome < drain_outcome::part_lost ? spdlog::level::info : spdlog::level::warn, "ended; {}{}",
              describe(outcome), is_count_known ? fmt::format(": {}", served_->requests_cut()) : "");
}

}  // namespace troupe::cli
