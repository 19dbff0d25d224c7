#include "actors/net/telemetry/request_log.hpp"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <string>

#include "actors/net/http/http_message.hpp"
#include "runtime/telemetry/report_text.hpp"

namespace troupe::net {
namespace {

constexpr std::size_t most_waiting = 2048;  // lines; each a few hundred bytes

}  // namespace

request_log::request_log(const spdlog::logger& target, line_form form, logged_requests which)
    : form_(form),
      which_(which),
      thread_(std::make_shared<spdlog::details::thread_pool>(most_waiting, 1)),
      logger_(std::make_shared<spdlog::async_logger>(name, target.sinks().begin(), target.sinks().end(),
                                                     thread_,
                                                     spdlog::async_overflow_policy::overrun_oldest)) {
  logger_->set_level(target.level());
}

request_log::~request_log() = default;

void request_log::ended(const request_report& report) {
  if (!logger_->should_log(spdlog::level::info)) return;
  const logged_requests which = which_;
  if (which == logged_requests::none || (which == logged_requests::failed && !has_failed(report))) return;
  // They have a line of their own now and then, and drive out no others'.
  if (report.failure && report.failure->status == http_unauthorized) return;
  const std::string line = form_ == line_form::json ? report_json(report) : report_line(report);
  logger_->log(spdlog::level::info, spdlog::string_view_t(line));
  tell_dropped();
}

// Once there is room again: a line that says so would be dropped, too.
void request_log::tell_dropped() {
  const std::uint64_t dropped = thread_->overrun_counter();
  const std::lock_guard lock(telling_);
  if (dropped == told_ || thread_->queue_size() > most_waiting / 2) return;
  if (!warnings_.pass(std::chrono::steady_clock::now())) return;
  logger_->warn("{} lines of requests were dropped: the log is not read fast enough", dropped - told_);
  told_ = dropped;
}

}  // namespace troupe::net
