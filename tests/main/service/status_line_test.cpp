#include "main/service/status_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::cli {
namespace {

using lines = std::vector<std::string>;

const net::engine_status serving{.live = true, .ready = true};
const net::engine_status hangs{.live = false, .reason = "a step does not end"};
const net::engine_status warms_up{.live = true, .reason = "warming up [1/3]"};
const net::engine_status waits{
    .live = true, .reason = "the model runner is being replaced", .waits_for_runner = true};
const net::engine_status drains{.live = true, .reason = net::draining_reason};

struct StatusLine : testing::Test {
  lines said() { return std::exchange(told, {}); }

  lines told;
  status_line line{[this](const std::string& state) { told.push_back(state); }};
};

TEST_F(StatusLine, OfAServiceWithoutTroubleChangesWithItsSettingsAlone) {
  line.look(warms_up);
  line.look(waits);
  line.ready();
  line.look(serving);
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=serving"}) << "the warm-up tells of itself";
  line.reloaded("serving; the last reload was refused");
  line.look(serving);
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=serving; the last reload was refused"});
  line.look(drains);
  EXPECT_EQ(said(), lines{}) << "who drains it tells of that";
}

TEST_F(StatusLine, FollowsAServiceInTroubleUntilItServesAgain) {
  line.ready();
  said();
  for (int round = 0; round < 2; ++round) {
    line.look(hangs);
    line.look(hangs);
    EXPECT_EQ(said(), lines{"STATUS=not live: a step does not end"});
    line.look({.live = false, .reason = "the queue does not move"});
    line.look(waits);
    line.look(waits);
    EXPECT_EQ(said(), (lines{"STATUS=not live: the queue does not move",
                             "STATUS=not ready: the model runner is being replaced"}));
    line.look(serving);
    line.look(serving);
    EXPECT_EQ(said(), lines{"STATUS=serving"});
  }
}

TEST_F(StatusLine, OfADegradedServiceSaysSoWhateverItSaysElse) {
  const net::engine_status degraded{.live = true, .ready = true, .degraded = "the device is lost"};
  line.ready();
  line.look(serving);
  said();
  line.look(waits);
  line.look(degraded);
  line.look(degraded);
  EXPECT_EQ(said(), (lines{"STATUS=not ready: the model runner is being replaced",
                           "STATUS=degraded: the device is lost; serving"}));
  line.reloaded("serving; the last reload was refused");
  EXPECT_EQ(said(),
            lines{"READY=1\nSTATUS=degraded: the device is lost; serving; the last reload was refused"});
}

TEST_F(StatusLine, OfAServiceThatBecomesDegradedWithoutOtherTroubleChanges) {
  line.ready();
  line.look(serving);
  said();
  line.look({.live = true, .ready = true, .degraded = "the device is lost"});
  EXPECT_EQ(said(), lines{"STATUS=degraded: the device is lost; serving"});
}

TEST_F(StatusLine, OfAServiceThatIsLiveAgainBeforeItIsReadyIsItsProgress) {
  line.look(hangs);
  line.look(warms_up);
  EXPECT_EQ(said(), (lines{"STATUS=not live: a step does not end", "STATUS=warming up [1/3]"}));
}

TEST_F(StatusLine, IsSilentOnceTheServiceIsStopping) {
  line.ready();
  line.look(waits);
  said();
  line.stopping(std::chrono::seconds(7));
  EXPECT_EQ(said(),
            (lines{"STOPPING=1\nSTATUS=ending: running requests finish", "EXTEND_TIMEOUT_USEC=7000000"}));
  line.look(drains);
  line.look(hangs);
  line.reloading();
  line.reloaded("serving");
  line.ready();
  EXPECT_EQ(said(), lines{});
}

TEST_F(StatusLine, OfAReloadBeforeTheServiceIsReadyComesWithItsReadiness) {
  line.reloading();
  line.reloaded("serving; the last reload was refused");
  EXPECT_EQ(said(), lines{});
  line.ready();
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=serving; the last reload was refused"});
}

TEST_F(StatusLine, IsNotCoveredUpByAReloadNorForgetsIt) {
  line.ready();
  line.look(hangs);
  said();
  line.reloading();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].substr(told[0].find("STATUS=")), "STATUS=not live: a step does not end");
  said();
  line.reloaded("serving; the last reload was refused");
  EXPECT_EQ(said(), lines{"READY=1\nSTATUS=not live: a step does not end"});
  line.look(hangs);
  EXPECT_EQ(said(), lines{});
  line.look(serving);
  EXPECT_EQ(said(), lines{"STATUS=serving; the last reload was refused"});
}

}  // namespace
}  // namespace troupe::cli
