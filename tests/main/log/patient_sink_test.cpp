#include "main/log/patient_sink.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>

namespace troupe::cli {
namespace {

class patient_sink_test : public testing::Test {
 protected:
  patient_sink_test() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    fcntl(ends_[1], F_SETPIPE_SZ, 16384);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~patient_sink_test() override {
    for (const int end : ends_) close(end);
  }

  spdlog::logger logger(bool in_color = false) const {
    spdlog::logger made("test",
                        std::make_shared<patient_sink>(ends_[1], in_color, std::chrono::milliseconds(20)));
    made.set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%^%l%$ %v", spdlog::pattern_time_type::utc, "\n"));
    return made;
  }
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t got = 0; (got = read(ends_[0], some.data(), some.size())) > 0;)
      text.append(some.data(), static_cast<std::size_t>(got));
    return text;
  }

  std::array<int, 2> ends_{};
};

TEST_F(patient_sink_test, writes_lines_of_any_length_whole) {
  auto log = logger();
  log.info("one");
  log.error(std::string(3000, 'x'));
  EXPECT_EQ(read_all(), "info one\nerror " + std::string(3000, 'x') + "\n");
}

TEST_F(patient_sink_test, drops_what_nobody_reads_and_says_how_much_it_was) {
  auto log = logger();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) log.info("line {} {}", i, std::string(100, '.'));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10))
      << "it waits once, not a thousand times";
  const std::string first = read_all();
  EXPECT_TRUE(first.starts_with("info line 0 "));
  log.info("the next");
  const std::string rest = read_all();
  const auto lines = static_cast<std::size_t>(std::count(first.begin(), first.end(), '\n'));
  EXPECT_NE(rest.find("warning " + std::to_string(1000 - lines) + " lines of the log were dropped"),
            std::string::npos)
      << rest;
  EXPECT_TRUE(rest.ends_with("info the next\n"));
  log.info("one more");
  EXPECT_EQ(read_all(), "info one more\n");
}

TEST_F(patient_sink_test, begins_a_line_of_its_own_behind_one_that_is_there_in_part) {
  auto log = logger();
  log.info(std::string(40'000, 'x'));
  EXPECT_EQ(read_all().back(), 'x');
  log.info("next");
  const std::string rest = read_all();
  EXPECT_TRUE(rest.starts_with("\nwarning 1 lines")) << rest;
  EXPECT_TRUE(rest.ends_with("\ninfo next\n")) << rest;
}

TEST_F(patient_sink_test, colors_what_the_formatter_marks) {
  auto log = logger(true);
  log.warn("careful");
  EXPECT_EQ(read_all(), "\033[33m\033[1mwarning\033[m careful\n");
}

}  // namespace
}  // namespace troupe::cli
