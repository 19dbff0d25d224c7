// A device that does not come back, and what takes its place.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>

#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

constexpr std::int32_t fewer_blocks = 34;  // than the device has that is lost

bool is_served_whole(const client& who) {
  return who.ends.size() == 1 && who.ends[0].reason == finish_reason::length && who.events_after_end == 0;
}

std::unique_ptr<executor> device_of(const company_setup& setup, std::int32_t blocks) {
  return make_null_executor({setup.block_size, blocks, 1}, setup.script);
}

// Opens once; what becomes of it later is `reopen`.
struct lost_device {
  int tries = 0;
  int turns = 0;
  bool is_killed = false;
  std::function<result<runner_device>()> reopen = [] { return fail(error_code::unavailable, "off the bus"); };

  company_setup setup() {
    company_setup out{.step_deadline = std::chrono::seconds(10)};
    out.adjust = [this, out](supervisor_parts& parts) {
      parts.device = *parts.open_device(true);
      parts.process.emplace();
      parts.process->kill = [this] { is_killed = true; };
      parts.open_device = [this](bool) {
        ++tries;
        return reopen();
      };
      parts.open_last_resort = [this, out](bool) -> result<runner_device> {
        ++turns;
        return runner_device{device_of(out, fewer_blocks), nullptr};
      };
    };
    return out;
  }
};

// Of the steps that `ends` names.
class broken_executor final : public forwarding_executor {
 public:
  using step_kind = bool (*)(const device_batch&);
  broken_executor(std::unique_ptr<executor> device, step_kind ends)
      : forwarding_executor(std::move(device)), ends_(ends) {}
  void forward(const device_batch& batch) override {
    if (ends_(batch)) throw std::runtime_error("a device that does not compute this");
    forwarding_executor::forward(batch);
  }

 private:
  step_kind ends_;
};

// Opens and ends such steps for ever.
void expect_last_resort(broken_executor::step_kind ends) {
  lost_device device;
  const company_setup setup = device.setup();
  stage stage(setup);
  stage.run();
  device.reopen = [setup, ends]() -> result<runner_device> {
    return runner_device{std::make_shared<broken_executor>(device_of(setup, setup.num_blocks), ends),
                         nullptr};
  };
  stage.kill(stage.roster().model_runner);
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(stage.ask("hello", 5));
  stage.run();
  EXPECT_EQ(device.turns, 1);
  for (const auto& who : clients) EXPECT_TRUE(is_served_whole(*who)) << "nobody is convicted for it";
  stage.expect_served(stage::runner_settles);
}

TEST(LastResort, TakesOverWhereTheDeviceDoesNotOpenAnyMoreAndNobodyNotices) {
  lost_device device;
  stage stage(device.setup());
  stage.run();
  const auto text = stage.ask("hello", 40);
  stage.run();
  const auto before = text->text;
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(stage.ask("hello", 40));
  stage.run(60);
  EXPECT_TRUE(stage.status().degraded.empty());
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(device.tries, 5);
  EXPECT_EQ(device.turns, 1);
  for (const auto& each : clients) {
    EXPECT_TRUE(is_served_whole(*each));
    EXPECT_EQ(each->text, before);
  }
  EXPECT_EQ(stage.query<msg::kv_cache_counts>(stage.roster().kv_cache, msg::count{})->blocks, fewer_blocks);
  EXPECT_TRUE(stage.status().ready);
  EXPECT_NE(stage.status().degraded.find("CPU"), std::string::npos);
  EXPECT_NE(stage.ports().metrics->text().find("troupe_degraded 1"), std::string::npos);
  stage.expect_idle();
}

// They were another device's, and no scheduler is told of them any more.
TEST(LastResort, HasWhatDraftsCostMeasuredAnew) {
  lost_device device;
  company_setup setup = device.setup();
  setup.warm_up = warm_up_mode::full;
  add_drafts(setup);
  stage stage(setup);
  stage.run();
  const auto costs = [&stage] { return stage.messages_of("scheduler", "step_cost"); };
  const double at_the_start = costs();
  EXPECT_GT(at_the_start, 0);
  stage.kill(stage.roster().model_runner);
  while (device.turns == 0) stage.run(1);
  EXPECT_EQ(stage.messages_of("scheduler", "forget_step_costs"), 1);
  EXPECT_EQ(costs(), at_the_start);
  stage.kill(stage.roster().scheduler);
  stage.run();
  EXPECT_EQ(costs(), at_the_start);
  for (int i = 0; i < 10; ++i) {
    stage.advance(std::chrono::seconds(10));
    stage.run();
  }
  EXPECT_EQ(costs(), 2 * at_the_start);
  stage.expect_served();
}

TEST(LastResort, IsTakenAtOnceWhereADeviceHadToBeKilledWhileItOpened) {
  lost_device device;
  stage stage(device.setup());
  stage.run();
  device.reopen = [&stage] {
    stage.advance(std::chrono::minutes(5));
    return fail(error_code::unavailable, "killed");
  };
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_TRUE(device.is_killed);
  EXPECT_EQ(device.tries, 1);
  EXPECT_EQ(device.turns, 1);
  stage.expect_served();
}

TEST(LastResort, IsNotTakenForADeviceThatSomebodyElseKillsWhileItOpens) {
  lost_device device;
  company_setup setup = device.setup();
  bool is_killed_by_others = true;
  setup.adjust = [adjust = setup.adjust, &is_killed_by_others](supervisor_parts& parts) {
    adjust(parts);
    parts.process->was_killed = [&is_killed_by_others] { return is_killed_by_others; };
  };
  stage stage(setup);
  stage.run();
  device.reopen = [&]() -> result<runner_device> {
    if (device.tries < 20) return fail(error_code::unavailable, "killed");
    is_killed_by_others = false;
    return runner_device{device_of(setup, setup.num_blocks), nullptr};
  };
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(device.tries, 20);
  EXPECT_EQ(device.turns, 0);
  EXPECT_TRUE(stage.status().degraded.empty());
  stage.expect_served(std::chrono::seconds(11));  // after which twenty ends are forgotten
}

// Which may be the fault of the requests, so that a step of nobody's has to tell.
TEST(LastResort, TakesOverFromADeviceThatOpensAndEndsEveryStep) {
  expect_last_resort([](const device_batch&) { return true; });
}

TEST(LastResort, TakesOverFromADeviceThatOpensAndEndsEveryDecode) {
  expect_last_resort([](const device_batch& batch) {
    return batch.sequences.front().num_rows == 1 && batch.positions.front() > 0;
  });
}

TEST(LastResort, IsStartedAgainItself) {
  lost_device device;
  stage stage(device.setup());
  stage.run();
  stage.kill(stage.roster().model_runner);
  stage.run();
  const auto who = stage.ask("hello", 40);
  stage.run(30);
  stage.kill(stage.roster().model_runner);
  stage.run();
  EXPECT_EQ(device.turns, 2);
  EXPECT_TRUE(is_served_whole(*who));
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
