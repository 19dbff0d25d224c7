// troupe top: a live view of a running service, in the terminal.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/admin_key.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/http_get.hpp"
#include "main/screen/quit_key.hpp"
#include "main/screen/terminal.hpp"
#include "main/screen/top_view.hpp"
#include "main/service/actor_tree.hpp"
#include "main/service/signals.hpp"
#include "main/service/stop_request.hpp"
#include "metrics/exposition.hpp"
#include "runtime/json/json.hpp"

namespace troupe::cli {
namespace {

using clock = std::chrono::steady_clock;

struct top_options {
  std::string url = "http://127.0.0.1:8000";
  double interval = 2;  // seconds
  bool once = false;
  std::string admin_url;  // empty: the operators' port is not asked
  std::string admin_key_file;
};

// The operators' port, where it is to be asked.
struct admin_access {
  service_url url;
  std::string key;
};

// What a service said at one moment.
struct reading {
  clock::time_point at;
  std::string health;
  metrics::exposition metrics;
  std::vector<tree_row> actors;  // as the operators' port tells them, where it does
  std::string admin_failure;     // why it does not
};

// "ready", or why not, or with what less than was asked for.
std::string health_of(const http_answer& answer) {
  const auto body = json::parse(answer.body, nullptr, false);
  if (answer.status == 200) {
    const bool is_degraded = body.is_object() && body.contains("degraded") && body["degraded"].is_string();
    return is_degraded ? "ready, degraded: " + body["degraded"].get<std::string>() : "ready";
  }
  if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return "not ready";
  const json& error = body["error"];
  const bool says_why = error.contains("message") && error["message"].is_string();
  return "not ready: " + (says_why ? error["message"].get<std::string>() : "it does not say why");
}

// Asks a service until it is told to stop.
class reader {
 public:
  reader(const service_url& url, const std::optional<admin_access>& admin, const stop_request& stop)
      : url_(url), admin_(admin), stop_(stop) {}
  result<reading> read() const;

 private:
  static constexpr std::chrono::seconds patience{3};

  result<http_answer> get(const service_url& from, const char* path, const std::string& key = {}) const {
    return http_get(from, path, patience, key, [this] { return stop_.told(); });
  }
  void read_actors(reading& into) const;

  const service_url& url_;
  const std::optional<admin_access>& admin_;
  const stop_request& stop_;
};

// What is wrong there does not keep the rest from being shown.
void reader::read_actors(reading& into) const {
  const result<http_answer> answer = get(admin_->url, "/admin/actors", admin_->key);
  if (!answer || answer->status != 200) {
    into.admin_failure = answer ? "answers " + std::to_string(answer->status) : answer.error().message;
    return;
  }
  auto actors = read_actor_tree(answer->body);
  if (actors) into.actors = std::move(*actors);
  if (!actors) into.admin_failure = actors.error().message;
}

result<reading> reader::read() const {
  result<http_answer> ready = get(url_, "/readyz");
  if (!ready) return tl::unexpected<error>(ready.error());
  result<http_answer> metrics = get(url_, "/metrics");
  if (!metrics) return tl::unexpected<error>(metrics.error());
  if (metrics->status != 200)
    return fail(error_code::unavailable, "/metrics answers " + std::to_string(metrics->status));
  reading now{clock::now(), health_of(*ready), metrics::exposition(metrics->body), {}, {}};
  if (admin_) read_actors(now);
  return now;
}

// A terminal gets one screen that is drawn again and again, and its own back at the end; anything else gets
// one view after the other.
class screen {
 public:
  explicit screen(bool drawn_over) : drawn_over_(drawn_over && can_be_drawn_over(STDOUT_FILENO)) {
    if (drawn_over_) std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  }
  ~screen() {
    if (drawn_over_) std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  // False: nobody reads it any more.
  bool show(const std::string& text) const {
    if (drawn_over_) std::fputs("\x1b[H\x1b[J", stdout);
    std::fputs(text.c_str(), stdout);
    if (!drawn_over_) std::fputs("\n", stdout);
    return std::fflush(stdout) == 0;
  }

  // A line is kept free for the cursor. What is not drawn over may be as long as it is.
  view_size size() const {
    view_size out;
    winsize found{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0) return out;
    if (found.ws_col > 0) out.width = found.ws_col;
    if (drawn_over_ && found.ws_row > 1) out.height = found.ws_row - 1U;
    return out;
  }

 private:
  bool drawn_over_;
};

std::string view_of(const reading& before, const reading& now, const std::string& url, view_size size) {
  if (now.metrics.empty()) return view_line(url + "  " + now.health, size);
  const double elapsed = std::chrono::duration<double>(now.at - before.at).count();
  actor_lines actors;
  if (!now.actors.empty())
    actors = [&](std::size_t most) { return actor_tree_lines(before.actors, now.actors, elapsed, most); };
  std::string failure;
  if (!now.admin_failure.empty()) {
    failure = view_line("operators' port: " + now.admin_failure, size);
    --size.height;
  }
  return top_view(metrics::figures_of(before.metrics, now.metrics, elapsed), now.health, actors, size) +
         failure;
}

// Nothing where the operators' port is not to be asked; else the exit code.
tl::expected<std::optional<admin_access>, int> find_admin(const top_options& options) {
  if (options.admin_url.empty()) return std::nullopt;
  const auto url = parse_url(options.admin_url);
  if (!url) {
    complain(url.error().message);
    return tl::unexpected<int>(exit_usage);
  }
  const char* const variable = std::getenv(config::admin_key_variable);
  const bool is_in_file = !options.admin_key_file.empty();  // a flag wins
  const auto found = config::read_admin_key({.needed_for = "--admin",
                                             .variable = variable == nullptr || is_in_file ? "" : variable,
                                             .file = options.admin_key_file,
                                             .file_origin = "--admin-key-file"});
  if (!found) {
    complain(found.error());
    return tl::unexpected<int>(exit_configuration);
  }
  return admin_access{*url, found->text};
}

int top(const top_options& options) {
  const auto url = parse_url(options.url);
  if (!url) {
    complain(url.error().message);
    return exit_usage;
  }
  const auto admin = find_admin(options);
  if (!admin) return admin.error();
  signal_watch signals(signal_watch::hangup::is_heard);
  stop_request stop;
  const scoped_handler ending(signals, [&stop](int, int) { stop.tell(); });
  const scoped_hangup terminal_gone(signals, [&stop] { stop.tell(); });
  const reader service(*url, *admin, stop);
  const int told_to_stop = options.once ? exit_failure : exit_ok;
  auto last = service.read();
  if (stop.told()) return told_to_stop;
  if (!last) {
    complain(options.url + " does not answer: " + last.error().message);
    return exit_failure;
  }
  const std::chrono::duration<double> interval(options.interval);
  std::optional<quit_key> quit;
  if (!options.once) quit.emplace([&stop] { stop.tell(); });
  const screen shown(!options.once);
  while (!stop.wait_for(interval)) {
    auto now = service.read();
    if (stop.told()) break;
    const std::string view = now ? view_of(*last, *now, options.url, shown.size())
                                 : options.url + "  no answer: " + now.error().message + "\n";
    if (!shown.show(view)) return exit_failure;
    if (options.once) return now && now->admin_failure.empty() ? exit_ok : exit_failure;
    if (now) last = std::move(now);
  }
  return told_to_stop;
}

// It is in every range, as CLI11 compares.
std::string refuse_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? "must be a number of seconds" : "";
}

}  // namespace

void add_top(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<top_options>();
  CLI::App* command = app.add_subcommand("top", "Watch a running service in the terminal");
  command->add_option("url", options->url, "Where it serves HTTP")->capture_default_str();
  command->add_option("--interval", options->interval, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->check(refuse_nan)
      ->capture_default_str();
  command->add_option("--admin", options->admin_url,
                      "Its operators' port, http://127.0.0.1:9091: shows the tree of actors");
  command->add_option(
      "--admin-key-file", options->admin_key_file,
      fmt::format("File with the operators' key; else {} has it", config::admin_key_variable));
  command->add_flag(
      "--once", options->once,
      "One view of one interval, then end: with 1 where something that is asked does not answer");
  command->footer(
      "\nReads /metrics and /readyz. q or Ctrl-C ends it. Rates and quantiles are of the time between two "
      "looks.\n"
      "\nExamples:\n"
      "  troupe top\n"
      "  troupe top http://127.0.0.1:9000 --interval 5\n"
      "  troupe top --admin http://127.0.0.1:9091 --admin-key-file /etc/troupe/admin-key\n"
      "  troupe top --once | head");
  command->callback([options, &chosen] { chosen = [options] { return top(*options); }; });
}

}  // namespace troupe::cli
