#include "main/status_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::cli {
namespace {

using lines = std::vector<std::string>;

const net::engine_status serving{.live = true, .ready = true};
const net::engine_status hangs{.live = false, .reason = "a step does not end"};
const net::engine_status loads{.live = true, .reason = "the model runner is being replaced"};

struct StatusLine : testing::Test {
  lines said() { return std::exchange(told, {}); }

  lines told;
  status_line line{[this](const std::string& state) { told.push_back(state); }};
};

TEST_F(StatusLine, OfAServiceThatIsLiveChangesWithItsSettingsAlone) {
  line.look(loads);
  line.ready();
  line.look(serving);
  line.look(loads);
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=serving"}) << "the warm-up tells of itself";
  line.ready("serving; the last reload was refused");
  line.look(serving);
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=serving; the last reload was refused"});
}

TEST_F(StatusLine, FollowsAServiceThatIsNotLiveUntilItServesAgain) {
  for (int round = 0; round < 2; ++round) {
    line.look(hangs);
    line.look(hangs);
    EXPECT_EQ(said(), lines{"STATUS=not live: a step does not end"});
    line.look({.live = false, .reason = "the queue does not move"});
    line.look(loads);
    line.look(loads);
    EXPECT_EQ(said(), (lines{"STATUS=not live: the queue does not move",
                             "STATUS=the model runner is being replaced"}));
    line.look(serving);
    line.look(serving);
    line.look(loads);
    EXPECT_EQ(said(), lines{"STATUS=serving"});
  }
}

TEST_F(StatusLine, IsNotCoveredUpByAReloadNorForgetsIt) {
  line.look(hangs);
  said();
  line.ready("serving; the last reload was refused");
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=not live: a step does not end"});
  line.look(hangs);
  EXPECT_EQ(said(), lines{});
  line.look(serving);
  EXPECT_EQ(said(), lines{"STATUS=serving; the last reload was refused"});
}

}  // namespace
}  // namespace troupe::cli
