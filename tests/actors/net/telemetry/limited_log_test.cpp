#include "actors/net/telemetry/limited_log.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/actors/net/captured_log_fixture.hpp"

namespace troupe::net::testing {
namespace {

using std::chrono::seconds;

TEST(limited_log, writes_five_lines_at_once_and_says_later_how_many_it_left_out) {
  const captured_log captured;
  limited_log log;
  const steady_time begin{seconds(100)};
  for (int i = 0; i < 40; ++i) log.error(begin, "a fault");
  log.error(begin + seconds(10), "a fault");
  const auto lines = captured.lines();
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[4], "error a fault");
  EXPECT_EQ(lines[5], "error a fault; 35 such messages were left out before it");
}

TEST(limited_log, warns_as_seldom) {
  const captured_log captured;
  limited_log log;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(log.warn(steady_time{}, "odd"), i < 5);
  const auto lines = captured.lines();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "warning odd");
}

TEST(limited_log, names_the_kind_of_an_exception_and_not_its_words) {
  const captured_log captured;
  limited_log log;
  log.error(steady_time{}, "request 7 could not be tokenized", std::runtime_error("near 'secret'"));
  ASSERT_EQ(captured.lines().size(), 1U);
  EXPECT_NE(captured.lines()[0].find("request 7 could not be tokenized ("), std::string::npos);
  EXPECT_NE(captured.lines()[0].find("(std::runtime_error)"), std::string::npos);
  EXPECT_EQ(captured.lines()[0].find("secret"), std::string::npos);
}

}  // namespace
}  // namespace troupe::net::testing
