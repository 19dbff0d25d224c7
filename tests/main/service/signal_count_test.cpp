#include "main/service/signal_count.hpp"

#include <gtest/gtest.h>

namespace troupe::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr signal_count::time begin{std::chrono::hours(1)};

TEST(SignalCount, SignalsThatComeAtOnceAreOne) {
  signal_count signals;
  EXPECT_EQ(signals.add(begin), 1);
  EXPECT_EQ(signals.add(begin), std::nullopt);
  EXPECT_EQ(signals.add(begin + microseconds(3)), std::nullopt);
  EXPECT_EQ(signals.add(begin + milliseconds(499)), std::nullopt);
  EXPECT_EQ(signals.add(begin + milliseconds(500)), 2);
}

TEST(SignalCount, OfEachThatCountsThereMayBeSeveral) {
  signal_count signals;
  for (int number = 1; number <= 3; ++number) {
    EXPECT_EQ(signals.add(begin + milliseconds(700) * number), number);
    EXPECT_EQ(signals.add(begin + milliseconds(700) * number + microseconds(20)), std::nullopt);
  }
}

TEST(SignalCount, WhoeverKeepsSendingIsHeardAgain) {
  signal_count signals;
  int counted = 0;
  for (int sent = 0; sent < 12; ++sent)
    counted = signals.add(begin + milliseconds(200) * sent).value_or(counted);
  EXPECT_EQ(counted, 4) << "at 0, 600, 1200 and 1800 ms";
}

}  // namespace
}  // namespace troupe::cli
