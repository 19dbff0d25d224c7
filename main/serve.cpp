// troupe serve: the company behind an HTTP and a TCP port.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "actors/company.hpp"
#include "actors/net/admin_server.hpp"
#include "actors/net/key_digest.hpp"
#include "actors/net/listener.hpp"
#include "actors/net/loading_server.hpp"
#include "config/admin_key.hpp"
#include "config/flags.hpp"
#include "config/values.hpp"
#include "main/admin_service.hpp"
#include "main/commands.hpp"
#include "main/company_options.hpp"
#include "main/default_model.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/logging.hpp"
#include "main/machine.hpp"
#include "main/progress.hpp"
#include "main/reloader.hpp"
#include "main/service_manager.hpp"
#include "main/signals.hpp"
#include "main/stop_request.hpp"
#include "main/trace_options.hpp"

namespace troupe::cli {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

// A listening socket that cannot be had: an unknown host is a setting, anything else is the machine's state.
int report_listening(const error& failure) {
  complain(failure.message);
  return failure.code == error_code::invalid_argument ? exit_configuration : exit_failure;
}

void log_engine(const company_options& options, const loaded_engine& engine) {
  spdlog::info("model {}, context {} tokens, {} threads on {}", options.served_model_name,
               engine.max_model_len, options.engine.threads, cpu_name());
}

// Listens for HTTP while the model loads. Whether the other ports can be had is asked before, too; the exit
// code where one cannot.
tl::expected<net::loading_server, int> open_early(const config::settings& settings, const std::string& model,
                                                  const net::request_observers& observers) {
  if (settings.tcp_port >= 0) {
    const auto free = net::check_address(to_tcp_options(settings).listen);
    if (!free) return tl::unexpected(report_listening(free.error()));
  }
  if (settings.admin_port >= 0) {
    const auto free = net::check_address(to_admin_options(settings).listen);
    if (!free) return tl::unexpected(report_listening(free.error()));
  }
  auto options = to_http_options(settings);
  options.observers = observers;
  auto server = net::loading_server::start(std::move(options), model);
  if (!server) return tl::unexpected(report_listening(server.error()));
  return std::move(*server);
}

// Opens both ports; the exit code where one cannot be had.
tl::expected<void, int> open_gateways(company& served, const config::settings& settings,
                                      const net::request_observers& observers) {
  auto http_options = to_http_options(settings);
  http_options.observers = observers;
  const auto http = served.serve_http(http_options);
  if (!http) return tl::unexpected(report_listening(http.error()));
  spdlog::info("HTTP on http://{}:{}", settings.host, *http);
  if (settings.tcp_port < 0) return {};
  auto tcp_options = to_tcp_options(settings);
  tcp_options.observers = observers;
  const auto tcp = served.serve_tcp(tcp_options);
  if (!tcp) return tl::unexpected(report_listening(tcp.error()));
  spdlog::info("TCP on {}:{}", settings.host, *tcp);
  return {};
}

// The operators' key, where they have a port; the exit code where there is none, or one that is not good.
tl::expected<std::optional<net::key_digest>, int> find_admin_key(const config::loaded_settings& loaded) {
  if (loaded.values.admin_port < 0) return std::nullopt;
  const auto key = config::read_admin_key(config::admin_key_place_of(loaded));
  if (!key) {
    complain(key.error());
    return tl::unexpected<int>(exit_configuration);
  }
  if (!key->warning.empty()) spdlog::warn("{}", key->warning);
  return net::key_digest(key->text);
}

// Opens the operators' port; the exit code where it cannot be had.
tl::expected<net::admin_server, int> open_admin(const config::settings& settings, net::admin_port& service) {
  auto server = net::admin_server::start(to_admin_options(settings), service);
  if (!server) return tl::unexpected(report_listening(server.error()));
  spdlog::info("operators on http://{}:{}/admin", settings.admin_host, server->port());
  return std::move(*server);
}

// The phases before the warm-up: on a terminal with a bar, and in /readyz.
result<loaded_engine> load_with_progress(engine_options options, net::loading_server& shown) {
  constexpr std::int64_t phases = 3;
  progress_bar bar(on_terminal());
  std::int64_t done = 0;
  options.on_phase = [&](const std::string& name) {
    tell_status("loading: " + name);
    bar.update(done++, phases, name);
    shown.show(done, phases, name);
  };
  return load_engine(options);
}

// A bar on a terminal; elsewhere the log has a line per item.
result<void> wait_ready(company& served) {
  const auto tell = [](const warm_up_progress& item) {
    tell_status(fmt::format("warming up [{}/{}] {}", item.done, item.total, item.what));
  };
  if (!on_terminal()) return served.wait_ready(tell);
  const quiet_log quiet;
  progress_bar bar(true);
  return served.wait_ready([&](const auto& item) {
    tell(item);
    bar.update(item.done, item.total, "warm-up: " + item.what);
  });
}

// False where the end has begun already: then nothing changes.
bool begin_end(company& served, stop_request& stop, std::optional<std::chrono::milliseconds> grace = {}) {
  if (!stop.tell({}, grace)) return false;
  served.interrupt_wait();  // where it warms up still
  return true;
}

// The first signal asks for an orderly end, the second ends the grace (whoever has asked for it), the third
// or five seconds end the process.
void on_signal(company& served, stop_request& stop, int signal, int count) {
  if (count > 2) std::_Exit(128 + signal);
  if (count == 2) {
    spdlog::warn("second signal: ending at once");
    served.interrupt();
    std::thread([signal] {
      std::this_thread::sleep_for(std::chrono::seconds(5));
      std::_Exit(128 + signal);
    }).detach();
    return;
  }
  if (!begin_end(served, stop))
    spdlog::info("the service is ending already: running requests go on; another signal ends them");
}

int finish(company& served, const std::optional<std::string>& failure, std::chrono::milliseconds grace) {
  if (failure) {
    spdlog::critical("the {} failed; ending", *failure);
    served.stop();
    return exit_internal;
  }
  tell_stopping();
  spdlog::info("ending: running requests have {} to finish", config::duration_text(grace));
  const bool all = served.drain(grace);
  served.stop();
  spdlog::info(all ? "ended; every request had finished" : "ended; requests were cut off");
  return exit_ok;
}

int serve(const config::setting_sources& sources) {
  const auto begin = clock::now();
  signal_watch signals(signal_watch::hangup::is_heard);
  // While the model loads, and when all requests have ended, there is nothing to wait for.
  const scoped_handler ending(signals, [](int, int) { std::_Exit(exit_ok); });
  const auto loaded = load_with_warnings(sources);
  if (!loaded) return loaded.error();
  const config::settings& settings = loaded->values;
  start_logging(settings);
  const auto requests = open_request_log(settings);
  const net::request_observers observers{requests};
  for (const std::string& warning : loaded->warnings) spdlog::warn("{}", warning);
  const auto key = find_admin_key(*loaded);
  if (!key) return key.error();
  const auto path = find_model(settings.model);
  if (!path) return report(path.error());

  auto wanted = to_company_options(settings, *path);
  if (!wanted) return report(wanted.error());
  company_options options = std::move(*wanted);
  auto traces = to_trace_options(settings);
  if (!traces) return report(traces.error());
  options.traces = std::move(*traces);
  const bool is_isolated = settings.runner_isolation == "process";
  if (is_isolated) options.engine.isolation = runner_program{.withheld = {config::admin_key_variable}};
  auto early = open_early(settings, options.served_model_name, observers);
  if (!early) return early.error();
  std::optional<net::loading_server> loading(std::move(*early));
  auto engine = load_with_progress(options.engine, *loading);
  if (!engine) return report(engine.error());
  log_engine(options, *engine);
  options.loaded = std::move(*engine);
  stop_request stop;  // outlives the company, which may tell it until its end
  auto started = company::start(std::move(options));
  if (!started) return report(started.error());
  company& served = **started;

  served.on_failure([&stop](const std::string& actor) { stop.tell(actor); });
  const scoped_handler handler(
      signals, [&served, &stop](int signal, int count) { on_signal(served, stop, signal, count); });
  liveness_watch watch([&served] { return served.status(); }, patience_of(settings));
  loading.reset();  // the gateway takes its place
  if (const auto open = open_gateways(served, settings, observers); !open) return open.error();
  std::optional<admin_service> operators;
  std::optional<reloader> reload;
  if (*key)
    operators.emplace(
        served, **key,
        [&](std::optional<std::chrono::milliseconds> grace) {
          begin_end(served, stop, grace);
          return stop.grace().value_or(reload->in_force().shutdown_grace);
        },
        [&](reloader::reply answer) { reload->ask(std::move(answer)); });
  reload.emplace(sources, settings,
                 reloaded_parts{served, watch, stop, *requests, operators ? &*operators : nullptr});
  const scoped_hangup hangup(signals, [&reload] { reload->ask([](const auto&) {}); });
  std::optional<net::admin_server> admin;  // ends before what it asks
  if (operators) {
    auto open = open_admin(settings, *operators);
    if (!open) return open.error();
    admin.emplace(std::move(*open));
  }
  const auto ready = wait_ready(served);
  if (ready) spdlog::info("ready after {:.2f} s", seconds_since(begin));
  if (ready) tell_ready();
  if (ready) reload->service_is_ready();
  if (!ready && !stop.told()) return report(ready.error());
  const auto failure = stop.wait();
  return finish(served, failure, stop.grace().value_or(reload->in_force().shutdown_grace));
}

}  // namespace

void add_serve(CLI::App& app, command_body& chosen) {
  const auto sources = std::make_shared<config::setting_sources>();
  CLI::App* command = app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API) and TCP");
  using enum config::option_group;
  config::add_flags(*command, {model, engine, bucketing, server, logging}, *sources);
  command->footer(
      "\nEvery option may stand in a TOML file (max_num_seqs = 8) or in the environment "
      "(TROUPE_MAX_NUM_SEQS=8).\n"
      "Flags win over the environment, that over the file. SIGTERM and Ctrl-C let running requests finish.\n"
      "\nExamples:\n"
      "  troupe serve\n"
      "  troupe serve --model my.gguf --host 0.0.0.0 --port 80\n"
      "  troupe serve --config troupe.toml --log-level debug");
  command->callback([sources, &chosen] { chosen = [sources] { return serve(*sources); }; });
}

}  // namespace troupe::cli
