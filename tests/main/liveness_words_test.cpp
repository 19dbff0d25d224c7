#include "main/liveness_words.hpp"

#include <gtest/gtest.h>

namespace troupe::cli {
namespace {

using said = std::optional<std::string>;

const net::engine_status serving{.live = true, .ready = true};
const net::engine_status hangs{.live = false, .reason = "a step does not end"};
const net::engine_status loads{.live = true, .reason = "the model runner is not there"};

TEST(LivenessWords, AreNoneOfAServiceThatIsLive) {
  liveness_words words;
  EXPECT_EQ(words.look(loads), std::nullopt) << "the warm-up has its own";
  EXPECT_EQ(words.look(serving), std::nullopt);
  EXPECT_EQ(words.look(loads), std::nullopt);
}

TEST(LivenessWords, FollowAServiceUntilItServesAgain) {
  liveness_words words;
  EXPECT_EQ(words.look(hangs), said("not live: a step does not end"));
  EXPECT_EQ(words.look(hangs), std::nullopt);
  EXPECT_EQ(words.look({.live = false, .reason = "the queue does not move"}),
            said("not live: the queue does not move"));
  EXPECT_EQ(words.look(loads), said("the model runner is not there"));
  EXPECT_EQ(words.look(loads), std::nullopt);
  EXPECT_EQ(words.look(serving), said("serving"));
  EXPECT_EQ(words.look(serving), std::nullopt);
  EXPECT_EQ(words.look(loads), std::nullopt);
  EXPECT_EQ(words.look(hangs), said("not live: a step does not end"));
}

}  // namespace
}  // namespace troupe::cli
