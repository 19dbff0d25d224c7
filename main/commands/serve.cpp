// troupe serve: the company behind an HTTP and a TCP port.
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/chaos.hpp"
#include "actors/clients/refusal_counter.hpp"
#include "actors/company.hpp"
#include "actors/company_metrics.hpp"
#include "actors/net/http/loading_server.hpp"
#include "actors/net/keys_in_force.hpp"
#include "actors/net/sockets/listener.hpp"
#include "actors/start/load_engine.hpp"
#include "config/admin_key.hpp"
#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/log/logging.hpp"
#include "main/screen/progress.hpp"
#include "main/screen/terminal.hpp"
#include "main/service/end_guard.hpp"
#include "main/service/fault_handler.hpp"
#include "main/service/file_contents.hpp"
#include "main/service/running_service.hpp"
#include "main/service/service_manager.hpp"
#include "main/service/signals.hpp"
#include "main/setup/client_keys.hpp"
#include "main/setup/company_options.hpp"
#include "main/setup/default_model.hpp"
#include "main/setup/machine.hpp"
#include "main/setup/open_files.hpp"
#include "main/setup/runner_program.hpp"
#include "runtime/executor/machine/usable_cores.hpp"
#include "runtime/isolation/exit_with_children.hpp"
#include "runtime/supervision/thread_room.hpp"

namespace troupe::cli {
namespace {

const char* name_of(int signal) {
  if (signal == SIGHUP) return "SIGHUP, since the terminal has gone,";
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

// What a large body has taken goes back to the system as soon as it is not wanted any more. glibc would keep
// up to 32 MiB of each such piece for the next one, for each thread that has had one (mallopt(3)). Many small
// pieces are memory_tidier's.
void give_back_large_memory() {
  constexpr int large = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, large);
  ::mallopt(M_TRIM_THRESHOLD, large);
}

void log_engine(const company_options& options, const loaded_engine& engine) {
  spdlog::info("model {}, context {} tokens, {} threads on {}", options.served_model_name,
               engine.max_model_len, options.engine.threads, cpu_name());
  if (options.engine.threads > usable_cores())
    spdlog::warn("{} threads on {} cores: every step waits for those that have none", options.engine.threads,
                 usable_cores());
}

void warn_of_few_files(const config::settings& settings) {
  const std::size_t possible = connections_with_files(settings);
  if (possible < static_cast<std::size_t>(settings.max_connections))
    spdlog::warn(
        "max_connections is {}, but the files that may be open at once (ulimit -n, LimitNOFILE) are enough "
        "for {} of each port",
        settings.max_connections, possible);
}

// Listens for HTTP while the model loads. Whether the other ports can be had is asked before, too; the exit
// code where one cannot.
tl::expected<net::loading_server, int> open_early(const config::loaded_settings& loaded,
                                                  const company_options& options,
                                                  const std::shared_ptr<net::keys_in_force>& clients,
                                                  const std::shared_ptr<net::request_log>& requests) {
  const config::settings& settings = loaded.values;
  const auto refused = [&loaded](error why, const char* port, const char* host) {
    if (why.param == "host") {
      why.param = host;
      why = with_origin(loaded, std::move(why));
    }
    return tl::unexpected(report_listening(why, port));
  };
  if (settings.tcp_port >= 0) {
    const auto free = net::check_address(to_tcp_options(settings).listen);
    if (!free) return refused(free.error(), "--tcp-port", "host");
  }
  if (settings.admin_port >= 0) {
    const auto free = net::check_address(to_admin_options(settings).listen);
    if (!free) return refused(free.error(), "--admin-port", "admin_host");
  }
  auto http = to_http_options(settings);
  if (http.probes) {
    const auto free = net::check_address(*http.probes);
    if (!free) return refused(free.error(), "--probe-port", "host");
  }
  http.keys = clients;
  http.observers.push_back(requests);
  http.observers.push_back(std::make_shared<refusal_counter>(options.metrics));
  auto server = net::loading_server::start(
      std::move(http), {.id = options.served_model_name, .aliases = options.served_aliases},
      [metrics = options.metrics] { return metrics->text(); });
  if (!server) return refused(server.error(), "--port", "host");
  return std::move(*server);
}

// The operators' key, null where they have no port; the exit code where there is none, or one that is not
// good.
tl::expected<std::shared_ptr<net::keys_in_force>, int> find_admin_key(const config::loaded_settings& loaded) {
  const config::admin_key_place place = config::admin_key_place_of(loaded);
  if (loaded.values.admin_port < 0) {
    if (!place.file.empty())
      spdlog::warn("{}: there is no operators' port; --admin-port opens it", place.file_origin);
    return nullptr;
  }
  const auto key = config::read_admin_key(place);
  if (!key) {
    complain(key.error());
    return tl::unexpected<int>(exit_configuration);
  }
  if (!key->warning.empty()) spdlog::warn("{}", key->warning);
  return std::make_shared<net::keys_in_force>(net::key_digest(key->text));
}

// Likewise the clients', of whom there may be none.
tl::expected<std::shared_ptr<net::keys_in_force>, int> find_api_keys(const config::loaded_settings& loaded) {
  const auto found = read_client_keys(loaded);
  if (!found) {
    complain(found.error());
    return tl::unexpected<int>(exit_configuration);
  }
  if (!found->warning.empty()) spdlog::warn("{}", found->warning);
  return found->keys;
}

// The phases before the warm-up: on a terminal with a bar, and in /readyz. Where they get nowhere /livez says
// so, and where that is in this process it ends.
result<loaded_engine> load_with_progress(engine_options options, net::loading_server& shown,
                                         metrics::engine_metrics& metrics) {
  constexpr std::int64_t phases = 3;
  progress_bar bar(can_be_drawn_over(STDERR_FILENO));
  std::int64_t done = 0;
  std::mutex telling;  // the phase, and what does not get on
  std::string phase;
  options.on_phase = [&](const std::string& name) {
    chaos::meet_message("start", name.c_str());
    const std::lock_guard lock(telling);
    phase = "loading: " + name;
    tell_status(phase);
    bar.update(done++, phases, name);
    shown.show(done, phases, name);
  };
  options.on_stall = [&](const std::optional<std::string>& why) {
    const std::lock_guard lock(telling);
    tell_status(why ? "not live: " + *why : phase);
    shown.stall(why);
    metrics.set_health(!why, false);
  };
  options.cpu_seconds_beside = [&] { return shown.cpu_seconds(); };  // who asks is no progress
  // Nothing within a process can end a read that hangs.
  end_guard guard([] {});
  options.on_hang = [&](const std::string& why) {
    guard.end_by(end_guard::clock::now(), exit_internal, why);
  };
  return load_engine(options);
}

// Loads the model and starts its actors; HTTP tells how far that is. Until then a signal ends the process at
// once: there is nothing to wait for. Errors: the exit code.
tl::expected<std::unique_ptr<company>, int> start_company(const config::loaded_settings& loaded,
                                                          const std::shared_ptr<net::keys_in_force>& clients,
                                                          const std::shared_ptr<net::request_log>& requests,
                                                          signal_watch& signals,
                                                          std::optional<net::loading_server>& loading) {
  const scoped_handler ending(signals, [](int signal, int) {
    tell_end("the model was loading");
    spdlog::info("ended by {} while the model was loading: no request had been taken", name_of(signal));
    exit_with_children(exit_ok);
  });
  const config::settings& settings = loaded.values;
  const auto refused = [&loaded](const error& why) {
    return tl::unexpected(report(with_origin(loaded, why)));
  };
  const auto path = find_model(settings.model);
  if (!path) return refused(path.error());
  auto options = to_company_options(settings, *path);
  if (!options) return refused(options.error());
  if (settings.runner_isolation == "process") {
    options->engine.isolation = this_program();
    options->engine.isolation->later_arguments = [] {
      return std::vector<std::string>{"--log-format", log_format()};
    };
  }
  options->metrics = make_company_metrics(options->served_model_name, options->drafts);
  describe_program(*options->metrics, *options);
  options->metrics->set_health(true, false);
  auto early = open_early(loaded, *options, clients, requests);
  if (!early) return tl::unexpected(early.error());
  loading.emplace(std::move(*early));
  for (const std::string& note : loaded.notes) spdlog::info("{}", note);
  auto engine = load_with_progress(options->engine, *loading, *options->metrics);
  if (!engine) return refused(engine.error());
  log_engine(*options, *engine);
  options->loaded = std::move(*engine);
  // An actor whose thread cannot be started would be waited for without end.
  end_guard guard([] {});
  guard.end_by(end_guard::clock::now() + std::chrono::minutes(1), exit_internal, "the actors do not start");
  auto started = company::start(std::move(*options));
  if (!started) return refused(started.error());
  return std::move(*started);
}

int serve(const config::setting_sources& sources) {
  const auto begun = std::chrono::steady_clock::now();
  give_back_large_memory();
  exit_on_fault();
  // Of signals, log and ports, the actors' and CAF's; those that compute are in the runner's process.
  constexpr int threads_beside_computing = 24;
  if (const auto room = room_for_threads(threads_beside_computing + usable_cores()); !room)
    return report(room.error());
  signal_watch signals(signal_watch::hangup::is_heard);
  // Before anything is there, and when all has ended, there is nothing to wait for.
  const scoped_handler ending(signals, [](int, int) { exit_with_children(exit_ok); });
  const auto loaded = load_with_warnings(sources);
  if (!loaded) return loaded.error();
  const config::settings& settings = loaded->values;
  const file_contents files = contents_of_files(settings);  // as they are when the start reads them
  start_logging(settings);
  complain_in_log();
  const auto requests = open_request_log(settings);
  for (const std::string& warning : loaded->warnings) spdlog::warn("{}", warning);
  allow_open_files(settings);
  if (const auto lack = lack_of_open_files()) {
    complain(*lack);
    return exit_failure;
  }
  warn_of_few_files(settings);
  const auto operators = find_admin_key(*loaded);
  if (!operators) return operators.error();
  const auto clients = find_api_keys(*loaded);
  if (!clients) return clients.error();
  std::optional<net::loading_server> loading;
  auto started = start_company(*loaded, *clients, requests, signals, loading);
  if (!started) return started.error();
  running_service service(std::move(*started), signals, {sources, settings, files}, {*operators, *clients},
                          requests);
  const http_listeners sockets{loading->listener(), loading->probe_listener()};
  loading.reset();  // the gateway takes its place
  if (const auto open = service.open_ports(sockets); !open) return open.error();
  return service.run(begun);
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
      "  troupe serve --model my.gguf --host 0.0.0.0 --port 80 --probe-port 8001\n"
      "  troupe serve --config troupe.toml --log-level debug");
  command->callback([sources, &chosen] { chosen = [sources] { return serve(*sources); }; });
}

}  // namespace troupe::cli
