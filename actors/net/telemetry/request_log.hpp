// One line of the log for each request, at its end.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "actors/net/telemetry/request_observer.hpp"
#include "runtime/telemetry/rate_limit.hpp"

namespace spdlog {
class logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace troupe::net {

enum class line_form { text, json };
enum class logged_requests { all, failed, none };  // failed: refused, ended by an error or by their time

// Lines are written by a thread of their own: who tells of a request waits for nobody who reads the log.
// Where that one does not keep up the oldest lines are dropped, and a line says how many.
class request_log final : public request_observer {
 public:
  // The logger's name, by which a sink's formatter knows its lines: those in JSON are whole objects.
  static constexpr const char* name = "requests";
  // Into the sinks of `target`, under its level.
  request_log(const spdlog::logger& target, line_form form, logged_requests which);
  ~request_log() override;  // when all lines are written
  request_log(const request_log&) = delete;
  request_log& operator=(const request_log&) = delete;

  void ended(const request_report& report) override;
  // From the next line on. Any thread.
  void change(line_form form, logged_requests which) {
    form_ = form;
    which_ = which;
  }
  // For who sets levels.
  const std::shared_ptr<spdlog::logger>& logger() const { return logger_; }

 private:
  void tell_dropped();

  std::atomic<line_form> form_;
  std::atomic<logged_requests> which_;
  std::shared_ptr<spdlog::details::thread_pool> thread_;
  std::shared_ptr<spdlog::logger> logger_;
  std::mutex telling_;
  rate_limit warnings_{1, std::chrono::seconds(10)};
  std::uint64_t told_ = 0;  // of the dropped lines
};

}  // namespace troupe::net
