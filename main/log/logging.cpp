#include "main/log/logging.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "main/log/journal.hpp"
#include "main/log/patient_sink.hpp"
#include "main/screen/terminal.hpp"
#include "runtime/json/json.hpp"

namespace troupe::cli {
namespace {

// "2026-01-31T12:00:00.123Z"
std::string utc_text(spdlog::log_clock::time_point when) {
  const auto since = when.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  const std::time_t time = seconds.count();
  std::tm fields{};
  gmtime_r(&time, &fields);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since - seconds).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", fields.tm_year + 1900, fields.tm_mon + 1,
                     fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec, milliseconds);
}

// As --log-level has it.
std::string level_word(spdlog::level::level_enum level) {
  if (level == spdlog::level::warn) return "warn";
  const auto word = spdlog::level::to_string_view(level);
  return std::string(word.data(), word.size());
}

class json_formatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    json line;
    line["time"] = utc_text(message.time);
    line["level"] = level_word(message.level);
    const std::string_view payload(message.payload.data(), message.payload.size());
    const bool has_fields = is_of_request(message) && payload.starts_with("{\"");
    line["message"] = has_fields ? "request" : std::string(payload);
    std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace);
    if (has_fields) {
      text.back() = ',';
      text += payload.substr(1);
    }
    text += '\n';
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<json_formatter>(); }

 private:
  static bool is_of_request(const spdlog::details::log_msg& message) {
    return std::string_view(message.logger_name.data(), message.logger_name.size()) == net::request_log::name;
  }
};

// Each message behind "<N>", its priority as sd-daemon(3) has it.
class journal_formatter : public spdlog::formatter {
 public:
  explicit journal_formatter(std::unique_ptr<spdlog::formatter> line) : line_(std::move(line)) {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string_view priority = priority_of(message.level);
    out.append(priority.data(), priority.data() + priority.size());
    line_->format(message, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<journal_formatter>(line_->clone());
  }

 private:
  static std::string_view priority_of(spdlog::level::level_enum level) {
    if (level >= spdlog::level::critical) return SD_CRIT;
    if (level == spdlog::level::err) return SD_ERR;
    if (level == spdlog::level::warn) return SD_WARNING;
    return level == spdlog::level::info ? SD_INFO : SD_DEBUG;
  }

  std::unique_ptr<spdlog::formatter> line_;
};

bool is_in_json(const config::settings& settings) {
  return settings.log_format == "json" || (settings.log_format == "auto" && !on_terminal());
}

std::unique_ptr<spdlog::formatter> formatter_of(const config::settings& settings) {
  std::unique_ptr<spdlog::formatter> line;
  if (is_in_json(settings))
    line = std::make_unique<json_formatter>();
  else
    line = std::make_unique<spdlog::pattern_formatter>(on_terminal() ? "%H:%M:%S.%e %^%-5l%$ %v"
                                                                     : "%Y-%m-%d %H:%M:%S.%e %-5l %v");
  if (!is_journal(STDERR_FILENO)) return line;
  return std::make_unique<journal_formatter>(std::move(line));
}

net::line_form form_of(const config::settings& settings) {
  return is_in_json(settings) ? net::line_form::json : net::line_form::text;
}

net::logged_requests requests_of(const config::settings& settings) {
  if (settings.log_requests == "none") return net::logged_requests::none;
  return settings.log_requests == "failed" ? net::logged_requests::failed : net::logged_requests::all;
}

std::atomic<net::line_form> form_in_force = net::line_form::text;

void set_sink_level(spdlog::level::level_enum level) {
  for (const auto& sink : spdlog::default_logger()->sinks()) sink->set_level(level);
}

}  // namespace

void start_logging(const config::settings& settings) {
  auto logger = std::make_shared<spdlog::logger>("troupe", make_stderr_sink());
  logger->flush_on(spdlog::level::trace);
  logger->set_formatter(formatter_of(settings));
  form_in_force = form_of(settings);
  spdlog::set_default_logger(std::move(logger));
  set_log_level(settings.log_level);
}

std::shared_ptr<net::request_log> open_request_log(const config::settings& settings) {
  auto log =
      std::make_shared<net::request_log>(*spdlog::default_logger(), form_of(settings), requests_of(settings));
  spdlog::register_logger(log->logger());  // so that it hears of a change of the level
  return log;
}

log_change::log_change(const config::settings& settings)
    : formatter_(formatter_of(settings)),
      form_(form_of(settings)),
      requests_(requests_of(settings)),
      level_(spdlog::level::from_str(settings.log_level)) {}

void log_change::take_up(net::request_log& requests) noexcept {
  spdlog::default_logger()->set_formatter(std::move(formatter_));  // of one sink: nothing is copied
  form_in_force = form_;
  requests.change(form_, requests_);
  spdlog::set_level(level_);
}

quiet_log::quiet_log() { set_sink_level(spdlog::level::warn); }
quiet_log::~quiet_log() { set_sink_level(spdlog::level::trace); }

std::string log_format() { return form_in_force.load() == net::line_form::json ? "json" : "text"; }

std::string log_level() { return level_word(spdlog::get_level()); }

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

void log_at_any_level(const std::string& line) {
  const auto logger = spdlog::default_logger();
  const spdlog::details::log_msg message(logger->name(), spdlog::level::info, line);
  for (const auto& sink : logger->sinks()) sink->log(message);
}

}  // namespace troupe::cli
