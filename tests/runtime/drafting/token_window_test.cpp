#include "runtime/drafting/token_window.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "tests/support/dice.hpp"

namespace troupe {
namespace {

TEST(token_window, holds_what_a_queue_holds) {
  dice random(1);
  token_window window;
  std::deque<token_id> queue;
  std::uint32_t first = 0;
  for (int step = 0; step < 20000; ++step) {
    if (queue.empty() || random.chance(55)) {
      window.push_back(step);
      queue.push_back(step);
    } else {
      const auto gone = static_cast<std::uint32_t>(random.pick(1, 3));
      for (std::uint32_t i = 0; i < gone && !queue.empty(); ++i, ++first) queue.pop_front();
      window.drop_before(first);
    }
    ASSERT_EQ(window.begin(), first);
    ASSERT_EQ(window.size(), queue.size());
    if (queue.empty()) continue;
    const std::size_t at = random.number() % queue.size();
    ASSERT_EQ(window[first + static_cast<std::uint32_t>(at)], queue[at]);
  }
}

}  // namespace
}  // namespace troupe
