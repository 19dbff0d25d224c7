#include "main/logging.hpp"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "config/options.hpp"
#include "main/progress.hpp"

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

class json_formatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    nlohmann::ordered_json line;
    line["time"] = utc_text(message.time);
    const auto level = spdlog::level::to_string_view(message.level);
    line["level"] = std::string(level.data(), level.size());
    line["message"] = std::string(message.payload.data(), message.payload.size());
    const std::string text =
        line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<json_formatter>(); }
};

void set_form(spdlog::logger& logger, const std::string& format) {
  if (format == "json" || (format == "auto" && !on_terminal())) {
    logger.set_formatter(std::make_unique<json_formatter>());
  } else {
    logger.set_pattern("%H:%M:%S.%e %^%-5l%$ %v");
  }
}

}  // namespace

void start_logging(const config::settings& settings) {
  auto logger = spdlog::stderr_color_mt("troupe");
  logger->flush_on(spdlog::level::trace);
  set_form(*logger, settings.log_format);
  spdlog::set_default_logger(std::move(logger));
  set_log_level(settings.log_level);
}

void change_logging(const config::settings& settings) {
  set_form(*spdlog::default_logger(), settings.log_format);
  set_log_level(settings.log_level);
}

std::string log_level() {
  for (const std::string_view word : config::find_option("log_level")->choices)
    if (spdlog::level::from_str(std::string(word)) == spdlog::get_level()) return std::string(word);
  return {};
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

}  // namespace troupe::cli
