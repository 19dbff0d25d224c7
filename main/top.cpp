// troupe top: a live view of a running service, in the terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "main/commands.hpp"
#include "main/exit_code.hpp"
#include "main/http_get.hpp"
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
};

// What a service said at one moment.
struct reading {
  clock::time_point at;
  std::string health;
  metrics::exposition metrics;
};

// "ready", or why not.
std::string health_of(const http_answer& answer) {
  if (answer.status == 200) return "ready";
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return "not ready";
  return "not ready: " + body["error"].value("message", std::string("it does not say why"));
}

result<reading> read(const service_url& url) {
  constexpr std::chrono::seconds patience{5};
  result<http_answer> ready = http_get(url, "/readyz", patience);
  if (!ready) return tl::unexpected<error>(ready.error());
  result<http_answer> metrics = http_get(url, "/metrics", patience);
  if (!metrics) return tl::unexpected<error>(metrics.error());
  if (metrics->status != 200)
    return fail(error_code::unavailable, "/metrics answers " + std::to_string(metrics->status));
  return reading{clock::now(), health_of(*ready), metrics::exposition(metrics->body)};
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

  static int width() {
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
  }

 private:
  bool drawn_over_;
};

std::string view_of(const reading& before, const reading& now, const std::string& url) {
  if (now.metrics.empty()) return url + "  " + now.health + "\n";
  const double elapsed = std::chrono::duration<double>(now.at - before.at).count();
  return top_view(metrics::figures_of(before.metrics, now.metrics, elapsed), now.health, screen::width());
}

int top(const top_options& options) {
  const auto url = parse_url(options.url);
  if (!url) {
    complain(url.error().message);
    return exit_usage;
  }
  signal_watch signals;
  stop_request stop;
  const scoped_handler ending(signals, [&stop](int, int) { stop.tell(); });
  auto last = read(*url);
  if (!last) {
    complain(options.url + " does not answer: " + last.error().message);
    return exit_failure;
  }
  const std::chrono::duration<double> interval(options.interval);
  const screen shown(!options.once);
  while (!stop.wait_for(interval)) {
    auto now = read(*url);
    if (now) {
      shown.show(view_of(*last, *now, options.url));
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
  command->add_flag("--once", options->once, "One view of one interval, then end");
  command->footer(
      "\nReads /metrics and /readyz. Ctrl-C ends it. Rates and quantiles are of the time between two looks.\n"
      "\nExamples:\n"
      "  troupe top\n"
      "  troupe top http://127.0.0.1:9000 --interval 5\n"
      "  troupe top --once | head");
  command->callback([options, &chosen] { chosen = [options] { return top(*options); }; });
}

}  // namespace troupe::cli
