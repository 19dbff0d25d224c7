// troupe top: a live view of a running service, in the terminal.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/admin_key.hpp"
#include "main/actor_tree.hpp"
#include "main/commands.hpp"
#include "main/exit_code.hpp"
#include "main/http_get.hpp"
#include "main/quit_key.hpp"
#include "main/signals.hpp"
#include "main/stop_request.hpp"
#include "main/top_view.hpp"
#include "metrics/exposition.hpp"

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

// "ready", or why not.
std::string health_of(const http_answer& answer) {
  if (answer.status == 200) return "ready";
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return "not ready";
  return "not ready: " + body["error"].value("message", std::string("it does not say why"));
}

constexpr std::chrono::seconds patience{5};

// What is wrong there does not keep the rest from being shown.
void read_actors(const admin_access& from, reading& into) {
  const result<http_answer> answer = http_get(from.url, "/admin/actors", patience, from.key);
  if (!answer || answer->status != 200) {
    into.admin_failure = answer ? "answers " + std::to_string(answer->status) : answer.error().message;
    return;
  }
  auto actors = read_actor_tree(answer->body);
  if (actors) into.actors = std::move(*actors);
  if (!actors) into.admin_failure = actors.error().message;
}

result<reading> read(const service_url& url, const std::optional<admin_access>& admin) {
  result<http_answer> ready = http_get(url, "/readyz", patience);
  if (!ready) return tl::unexpected<error>(ready.error());
  result<http_answer> metrics = http_get(url, "/metrics", patience);
  if (!metrics) return tl::unexpected<error>(metrics.error());
  if (metrics->status != 200)
    return fail(error_code::unavailable, "/metrics answers " + std::to_string(metrics->status));
  reading now{clock::now(), health_of(*ready), metrics::exposition(metrics->body), {}, {}};
  if (admin) read_actors(*admin, now);
  return now;
}

// A terminal gets one screen that is drawn again and again, and its own back at the end; anything else gets
// one view after the other.
class screen {
 public:
  explicit screen(bool drawn_over) : drawn_over_(drawn_over && isatty(STDOUT_FILENO) == 1) {
    if (drawn_over_) std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  }
  ~screen() {
    if (drawn_over_) std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  void show(const std::string& text) const {
    if (drawn_over_) std::fputs("\x1b[H\x1b[J", stdout);
    std::fputs(text.c_str(), stdout);
    if (!drawn_over_) std::fputs("\n", stdout);
    std::fflush(stdout);
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
  if (now.metrics.empty()) return url + "  " + now.health + "\n";
  const double elapsed = std::chrono::duration<double>(now.at - before.at).count();
  actor_lines actors;
  if (!now.actors.empty())
    actors = [&](std::size_t most) { return actor_tree_lines(before.actors, now.actors, elapsed, most); };
  std::string failure;
  if (!now.admin_failure.empty()) {
    failure =
        ("operators' port: " + now.admin_failure).substr(0, static_cast<std::size_t>(size.width)) + "\n";
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
  signal_watch signals;
  stop_request stop;
  const scoped_handler ending(signals, [&stop](int, int) { stop.tell(); });
  auto last = read(*url, *admin);
  if (!last) {
    complain(options.url + " does not answer: " + last.error().message);
    return exit_failure;
  }
  const std::chrono::duration<double> interval(options.interval);
  std::optional<quit_key> quit;
  if (!options.once) quit.emplace([&stop] { stop.tell(); });
  const screen shown(!options.once);
  while (!stop.wait_for(interval)) {
    auto now = read(*url, *admin);
    if (now) {
      shown.show(view_of(*last, *now, options.url, shown.size()));
      last = std::move(now);
    } else {
      shown.show(options.url + "  no answer: " + now.error().message + "\n");
    }
    if (options.once) return now ? exit_ok : exit_failure;
  }
  return exit_ok;
}

}  // namespace

void add_top(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<top_options>();
  CLI::App* command = app.add_subcommand("top", "Watch a running service in the terminal");
  command->add_option("url", options->url, "Where it serves HTTP")->capture_default_str();
  command->add_option("--interval", options->interval, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--admin", options->admin_url,
                      "Its operators' port, http://127.0.0.1:9090: shows the tree of actors");
  command->add_option(
      "--admin-key-file", options->admin_key_file,
      fmt::format("File with the operators' key; else {} has it", config::admin_key_variable));
  command->add_flag("--once", options->once, "One view of one interval, then end");
  command->footer(
      "\nReads /metrics and /readyz. q or Ctrl-C ends it. Rates and quantiles are of the time between two "
      "looks.\n"
      "\nExamples:\n"
      "  troupe top\n"
      "  troupe top http://127.0.0.1:9000 --interval 5\n"
      "  troupe top --admin http://127.0.0.1:9090 --admin-key-file /etc/troupe/admin-key\n"
      "  troupe top --once | head");
  command->callback([options, &chosen] { chosen = [options] { return top(*options); }; });
}

}  // namespace troupe::cli
