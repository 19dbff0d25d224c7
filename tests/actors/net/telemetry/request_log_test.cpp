#include "actors/net/telemetry/request_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>

#include <condition_variable>
#include <mutex>

#include "tests/actors/net/captured_log_fixture.hpp"

namespace troupe::net::testing {
namespace {

request_report answered() {
  request_report report;
  report.id = "chatcmpl-1";
  report.reasons = {finish_reason::stop};
  return report;
}

request_report refused() {
  request_report report;
  report.failure = request_failure{400, "invalid_value"};
  return report;
}

TEST(request_log, writes_a_line_for_each_request_in_the_form_that_is_wanted) {
  const captured_log captured;
  request_log(*spdlog::default_logger(), line_form::text, logged_requests::all).ended(answered());
  request_log(*spdlog::default_logger(), line_form::json, logged_requests::all).ended(refused());
  const auto lines = captured.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with("info request request_id=chatcmpl-1 finish_reason=stop ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with(R"(info {"status":400,"error_code":"invalid_value",)")) << lines[1];
}

TEST(request_log, writes_failed_requests_alone_where_that_is_wanted) {
  const captured_log captured;
  {
    request_log log(*spdlog::default_logger(), line_form::text, logged_requests::failed);
    log.ended(answered());
    log.ended(refused());
  }
  ASSERT_EQ(captured.lines().size(), 1U);
  EXPECT_NE(captured.lines()[0].find("status=400"), std::string::npos);
}

TEST(request_log, goes_on_in_another_form_and_with_other_requests) {
  const captured_log captured;
  {
    request_log log(*spdlog::default_logger(), line_form::text, logged_requests::none);
    log.ended(refused());
    log.change(line_form::json, logged_requests::failed);
    log.ended(answered());
    log.ended(refused());
  }
  ASSERT_EQ(captured.lines().size(), 1U);
  EXPECT_TRUE(captured.lines()[0].starts_with(R"(info {"status":400)")) << captured.lines()[0];
}

TEST(request_log, writes_nothing_below_its_level) {
  const captured_log captured;
  spdlog::default_logger()->set_level(spdlog::level::warn);
  request_log(*spdlog::default_logger(), line_form::text, logged_requests::all).ended(refused());
  EXPECT_TRUE(captured.lines().empty());
}

// Takes no line until it is let go.
class stuck_sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void let_go() {
    const std::lock_guard lock(gate_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for_lines(std::size_t count) {
    std::unique_lock lock(gate_);
    changed_.wait(lock, [&] { return lines_.size() >= count; });
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(gate_);
    return lines_;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::unique_lock lock(gate_);
    changed_.wait(lock, [this] { return open_; });
    lines_.emplace_back(message.payload.data(), message.payload.size());
    changed_.notify_all();
  }
  void flush_() override {}

 private:
  mutable std::mutex gate_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  bool open_ = false;
};

TEST(request_log, waits_for_nobody_who_reads_it_and_says_how_many_lines_that_has_cost) {
  const auto sink = std::make_shared<stuck_sink>();
  const std::size_t requests = 10'000;
  {
    request_log log(spdlog::logger("stuck", sink), line_form::text, logged_requests::all);
    for (std::size_t i = 0; i < requests; ++i) log.ended(answered());
    sink->let_go();
    sink->wait_for_lines(2'000);
    log.ended(answered());
  }
  const std::vector<std::string> lines = sink->lines();
  ASSERT_LT(lines.size(), 2'100U);
  const std::size_t written = lines.size() - 1;
  EXPECT_EQ(lines.back(), fmt::format("{} lines of requests were dropped: the log is not read fast enough",
                                      requests + 1 - written));
}

}  // namespace
}  // namespace troupe::net::testing
