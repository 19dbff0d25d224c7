// When the supervisor ends the process of a device, and when it does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

bool has_finished(const client& who) {
  return who.ends.size() == 1 && who.ends[0].reason == finish_reason::length && who.events_after_end == 0;
}

// Of time in which the runner opens its device, which calls this, and the others are at work.
void pass(stage& stage, std::chrono::nanoseconds time) {
  stage.advance(time);
  while (stage.run_any(0)) {
  }
}

// A device with a process, of which nothing is real but what the supervisor asks and does.
struct watched_device {
  std::int32_t id = 0;
  bool ends_by_kill = true;
  int kills = 0;
  int opened = 0;
  bool has_ended = false;
  std::function<void()> while_opening = [] {};
  std::optional<process_work> work;

  // From a disk, for so long.
  void read_for(stage& stage, std::chrono::nanoseconds time) {
    constexpr std::chrono::seconds step{5};
    for (work = process_work{}; time > time.zero(); time -= step, ++work->major_faults)
      pass(stage, std::min<std::chrono::nanoseconds>(step, time));
  }

  company_setup setup() {
    company_setup out{.step_deadline = std::chrono::seconds(10)};
    out.adjust = [this](supervisor_parts& parts) {
      parts.process.emplace();
      parts.process->id = [this] { return id; };
      parts.process->has_ended = [this] { return has_ended; };
      parts.process->work = [this] { return work; };
      parts.process->kill = [this] {
        ++kills;
        has_ended = has_ended || ends_by_kill;
      };
      parts.device = *parts.open_device(true);
      parts.open_device = [this, open = parts.open_device](bool) {
        while_opening();
        ++opened;
        has_ended = false;
        return open(true);
      };
    };
    return out;
  }
};

TEST(DeviceProcess, ThatHangsIsKilledOnceWhenItsDeadlineIsOverTwice) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  const auto who = stage.ask("hello", 50);
  const auto* runner = caf::actor_cast<caf::abstract_actor*>(stage.roster().model_runner);
  const auto pass = [&](std::chrono::nanoseconds time) {
    stage.advance(time);
    while (stage.run_any(0, runner)) {
    }
  };
  pass(std::chrono::seconds(0));
  pass(std::chrono::seconds(11));
  EXPECT_FALSE(stage.status().live);
  EXPECT_EQ(device.kills, 0);
  pass(std::chrono::seconds(10));
  EXPECT_EQ(device.kills, 1);
  for (int i = 0; i < 10; ++i) pass(std::chrono::milliseconds(100));
  EXPECT_EQ(device.kills, 1);
  stage.run();
  EXPECT_EQ(device.opened, 1);
  EXPECT_TRUE(has_finished(*who));
  stage.expect_idle();
}

TEST(DeviceProcess, ThatEndsWithoutWorkIsFollowedByAnotherAtOnce) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  device.has_ended = true;
  stage.advance(std::chrono::milliseconds(100));
  stage.run();
  EXPECT_EQ(device.opened, 1);
  EXPECT_EQ(device.kills, 0);
  EXPECT_TRUE(stage.status().ready);
  const auto who = stage.ask("hello", 5);
  stage.run();
  EXPECT_TRUE(has_finished(*who));
  stage.expect_idle();
}

TEST(DeviceProcess, ThatHangsInTheWarmUpIsKilledLikeAnyOther) {
  watched_device device;
  company_setup setup = device.setup();
  setup.warm_up = warm_up_mode::lazy;
  setup.adjust = [adjust = setup.adjust](supervisor_parts& parts) {
    adjust(parts);
    parts.steps.tune = true;  // which is begun once nothing has run for two seconds
  };
  stage stage(setup);
  stage.run();
  const auto* runner = caf::actor_cast<caf::abstract_actor*>(stage.roster().model_runner);
  const auto pass = [&](std::chrono::nanoseconds time) {
    stage.advance(time);
    while (stage.run_any(0, runner)) {
    }
  };
  for (int i = 0; i < 25; ++i) pass(std::chrono::milliseconds(100));
  pass(std::chrono::seconds(11));
  EXPECT_FALSE(stage.status().live);
  EXPECT_EQ(stage.status().reason, "a step of the warm-up does not end");
  EXPECT_EQ(device.kills, 0);
  pass(std::chrono::seconds(10));
  EXPECT_EQ(device.kills, 1);
  stage.run();
  EXPECT_EQ(device.opened, 1);
  EXPECT_TRUE(stage.status().live && stage.status().ready);
  stage.expect_served();
}

// A device that is killed before it has done anything, as often as it is there.
struct killed_device : watched_device {
  company_setup setup() {
    company_setup out = watched_device::setup();
    out.adjust = [adjust = out.adjust](supervisor_parts& parts) {
      adjust(parts);
      parts.pauses = {};
      parts.process->was_killed = parts.process->has_ended;
    };
    return out;
  }

  // Whether there was a next one within half a minute.
  bool is_killed_and_followed(stage& stage) {
    const int before = opened;
    has_ended = true;
    for (int i = 0; i < 300 && opened == before; ++i) {
      stage.advance(std::chrono::milliseconds(100));
      stage.run();
    }
    return opened > before;
  }
};

// Whoever ends it from outside, and as soon as it is there.
TEST(DeviceProcess, ThatIsKilledAgainAndAgainIsStartedAfterPausesAndCostsNobodyHisRequest) {
  killed_device device;
  stage stage(device.setup());
  stage.run();
  device.has_ended = true;
  stage.advance(std::chrono::milliseconds(100));
  const auto who = stage.ask("hello", 50);
  std::vector<std::chrono::nanoseconds> waits;
  for (int opened = device.opened; opened < 12;) {
    const auto ended = stage.now();
    for (int i = 0; i < 10000 && device.opened == opened; ++i)
      if (stage.run(1) == 0) stage.advance(std::chrono::milliseconds(100));
    ASSERT_GT(device.opened, opened);
    waits.push_back(stage.now() - ended);
    opened = device.opened;
    device.has_ended = true;  // before a step has ended
    stage.advance(std::chrono::milliseconds(100));
  }
  EXPECT_LT(waits[0], std::chrono::milliseconds(250));
  EXPECT_GE(waits[2], std::chrono::milliseconds(250));
  EXPECT_GE(waits[4], std::chrono::seconds(1)) << "it waits longer each time";
  EXPECT_GE(waits.back(), std::chrono::seconds(5));
  device.has_ended = false;
  stage.advance(std::chrono::seconds(6));
  stage.run();
  EXPECT_TRUE(has_finished(*who));
  EXPECT_TRUE(stage.status().live);
  stage.expect_served(stage::runner_settles);
}

TEST(DeviceProcess, ThatIsKilledInVainForMinutesEndsTheCompany) {
  killed_device device;
  stage stage(device.setup());
  stage.run();
  int kills = 0;
  while (kills < 200 && device.is_killed_and_followed(stage)) ++kills;
  EXPECT_GE(kills, 64) << "somebody may be at work on the machine";
  EXPECT_LT(kills, 80);
  EXPECT_FALSE(stage.status().live);
  EXPECT_EQ(stage.status().reason, "model_runner has ended");
}

TEST(DeviceProcess, IsNotStartedAgainByACompanyThatHasFailedMeanwhile) {
  killed_device device;
  stage stage(device.setup());
  stage.run();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(device.is_killed_and_followed(stage));
  const int opened = device.opened;
  device.has_ended = true;
  stage.advance(std::chrono::milliseconds(100));
  stage.run();  // and now a pause
  for (int i = 0; i < 20 && !stage.board().failure(); ++i) {
    stage.kill(stage.roster().scheduler);
    stage.run();
  }
  ASSERT_TRUE(stage.board().failure());
  stage.advance(std::chrono::seconds(10));
  stage.run();
  EXPECT_EQ(device.opened, opened);
}

// The queue waits for it, and is late thereby.
TEST(DeviceProcess, ThatBeginsSlowlyIsNotKilledForTheQueueThatWaitsForIt) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  const auto who = stage.ask("hello", 50);
  stage.run(20);
  device.while_opening = [&stage] { stage.advance(std::chrono::seconds(45)); };
  stage.kill(stage.roster().model_runner);
  // The supervisor looks after the device between any two messages.
  for (int i = 0; i < 60; ++i) {
    stage.run(1);
    stage.advance(std::chrono::milliseconds(100));
  }
  stage.run();
  EXPECT_EQ(device.opened, 1);
  EXPECT_EQ(device.kills, 0);
  EXPECT_TRUE(stage.status().live);
  EXPECT_TRUE(has_finished(*who));
  stage.expect_idle();
}

TEST(DeviceProcess, ThatDoesNotBeginIsKilled) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  device.while_opening = [&stage] { stage.advance(std::chrono::minutes(5)); };
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(device.kills, 1);
  device.while_opening = [] {};
  stage.expect_served();
}

// Who waits for it is not refused meanwhile.
TEST(DeviceProcess, ThatGetsNowhereAsItOpensIsNotLiveAfterHalfOfItsTime) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  net::engine_status told;
  device.work = process_work{};
  device.while_opening = [&] {
    for (const int passed : {20, 11}) {
      EXPECT_TRUE(stage.status().live);
      pass(stage, std::chrono::seconds(passed));
    }
    told = stage.status();
    ++device.work->major_faults;
    pass(stage, std::chrono::milliseconds(100));
    EXPECT_TRUE(stage.status().live) << "it gets on again";
  };
  stage.kill(stage.roster().model_runner);
  const auto who = stage.ask("hello", 5);
  stage.run();
  EXPECT_FALSE(told.live || told.ready);
  EXPECT_EQ(told.reason, "the runner process 0, which opens its device, has got nowhere for 31 s");
  EXPECT_TRUE(told.takes_requests());
  EXPECT_EQ(device.kills, 0);
  EXPECT_TRUE(has_finished(*who));
  EXPECT_TRUE(stage.status().live && stage.status().ready);
  stage.expect_served();
}

TEST(DeviceProcess, ThatHangsTwiceAsItOpensEndsTheCompany) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  int hung = 0;
  device.while_opening = [&] {
    ++hung;
    device.has_ended = false;
    for (int i = 0; i < 62; ++i) pass(stage, std::chrono::seconds(1));
    throw device_lost("the runner process has ended");
  };
  stage.kill(stage.roster().model_runner);
  for (int i = 0; i < 100; ++i) {
    stage.advance(std::chrono::milliseconds(100));
    stage.run();
  }
  EXPECT_EQ(hung, 2);
  EXPECT_EQ(device.kills, 2);
  EXPECT_EQ(stage.status().reason, "model_runner has hung 2 times in a row as it opened its device");
}

// The one before has ended, and nobody knows the next yet: it hangs between fork and exec.
TEST(DeviceProcess, ThatHangsAsItIsStartedIsNotLiveAndKilledToo) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  net::engine_status told;
  device.while_opening = [&] {
    pass(stage, std::chrono::seconds(31));
    told = stage.status();
    EXPECT_EQ(device.kills, 0);
    pass(stage, std::chrono::seconds(31));
    device.while_opening = [] {};
    throw device_lost("it could not be started");
  };
  device.has_ended = true;
  const auto who = stage.ask("hello", 5);
  for (int i = 0; i < 100; ++i) {
    stage.advance(std::chrono::milliseconds(100));
    stage.run();
  }
  EXPECT_FALSE(told.live);
  EXPECT_EQ(told.reason, "the start of a runner process has got nowhere for 31 s");
  EXPECT_EQ(device.kills, 1);
  EXPECT_TRUE(has_finished(*who));
  EXPECT_TRUE(stage.status().live && stage.status().ready);
  stage.expect_served();
}

TEST(DeviceProcess, ThatDoesNotEndThoughItWasKilledEndsTheCompany) {
  watched_device device;
  device.ends_by_kill = false;
  stage stage(device.setup());
  stage.run();
  device.while_opening = [&] {
    for (int i = 0; i < 93; ++i) {
      EXPECT_EQ(stage.board().failure().has_value(), i > 91) << i;
      pass(stage, std::chrono::seconds(1));
    }
  };
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(device.kills, 1);
  EXPECT_EQ(stage.status().reason, "model_runner has a process that was killed and does not end");
}

// It hung and was killed, and its end took long: the next one is none the worse for it.
TEST(DeviceProcess, ThatFollowsOneThatEndsLateHasItsOwnTime) {
  watched_device device;
  device.ends_by_kill = false;
  stage stage(device.setup());
  stage.run();
  device.while_opening = [&] {
    for (int i = 0; i < 70; ++i) pass(stage, std::chrono::seconds(1));
    ++device.id;
    device.read_for(stage, std::chrono::seconds(100));
  };
  stage.kill(stage.roster().model_runner);
  const auto who = stage.ask("hello", 5);
  stage.run();
  EXPECT_EQ(device.kills, 1);
  EXPECT_FALSE(stage.board().failure().has_value());
  EXPECT_TRUE(has_finished(*who));
  stage.expect_served();
}

// It may take as long as it likes while it gets on.
TEST(DeviceProcess, ThatReadsForLongAsItOpensIsNotKilled) {
  watched_device device;
  stage stage(device.setup());
  stage.run();
  const auto who = stage.ask("hello", 50);
  stage.run(20);
  device.while_opening = [&] { device.read_for(stage, std::chrono::seconds(400)); };
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(device.kills, 0);
  EXPECT_EQ(device.opened, 1);
  EXPECT_TRUE(has_finished(*who));
  stage.expect_served();
}

// Nor where it takes longer than a step may.
TEST(DeviceProcess, ThatOpensSlowlyIsNotReadyAndNobodyIsRefused) {
  for (const std::chrono::seconds time : {std::chrono::seconds(6), std::chrono::seconds(45)}) {
    watched_device device;
    stage stage(device.setup());
    stage.run();
    const auto before = stage.ask("hello", 50);
    stage.run(20);
    net::engine_status told;
    device.while_opening = [&] {
      device.read_for(stage, time);
      told = stage.status();
    };
    device.has_ended = true;
    stage.advance(std::chrono::milliseconds(100));
    while (device.opened == 0 && stage.run(1) == 1) {
    }
    EXPECT_TRUE(before->ends.empty());
    EXPECT_TRUE(told.live && !told.ready);
    EXPECT_EQ(told.reason, "the model runner is being replaced");
    EXPECT_TRUE(told.takes_requests());
    const auto meanwhile = stage.ask("hello", 5);
    stage.run();
    EXPECT_TRUE(stage.status().ready);
    EXPECT_TRUE(has_finished(*before));
    EXPECT_TRUE(has_finished(*meanwhile));
    stage.expect_idle();
  }
}

}  // namespace
}  // namespace troupe::test
