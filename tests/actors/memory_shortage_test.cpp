// A device that has no memory for a step: it is kept, its requests go on in smaller steps, and nobody hears
// of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <caf/send.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/scheduler/step_bounds.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/actors/late_fault_fixture.hpp"

namespace troupe::test {
namespace {

// Has memory for steps of so many sequences, until it is told otherwise.
struct small_device {
  std::size_t most = 8;
  int lacking_steps = 0;
  int opened = 0;  // but for the first
  std::size_t largest = 0;

  company_setup setup(std::optional<int> overlaps = {}) {
    company_setup out{.follows_input = true, .overlaps = overlaps};
    out.before_step = [this](const device_batch& batch) {
      if (batch.sequences.size() > most) {
        ++lacking_steps;
        throw out_of_device_memory("no memory for a step of " + std::to_string(batch.sequences.size()));
      }
      largest = std::max(largest, batch.sequences.size());
    };
    out.adjust = [this](supervisor_parts& parts) {
      parts.device = *parts.open_device(true);
      parts.open_device = [this, open = parts.open_device](bool with_draft) {
        ++opened;
        return open(with_draft);
      };
    };
    return out;
  }
};

std::vector<std::shared_ptr<client>> ask_eight(stage& stage) {
  std::vector<std::shared_ptr<client>> all;
  for (std::int32_t i = 0; i < 8; ++i)
    all.push_back(stage.ask(std::string(static_cast<std::size_t>(3 + i), static_cast<char>('a' + i)), 20));
  return all;
}

void expect_served(const std::vector<std::shared_ptr<client>>& clients) {
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ASSERT_EQ(clients[i]->ends.size(), 1U) << i;
    EXPECT_EQ(clients[i]->ends[0].reason, finish_reason::length) << i;
    EXPECT_EQ(clients[i]->tokens.size(), 20U) << i;
    SCOPED_TRACE(i);
    expect_alphabet(*clients[i]);
  }
}

// That have begun before the device has memory for steps of `most` alone.
void serve_eight(stage& stage, small_device& device, std::size_t most) {
  device.most = 8;
  const auto clients = ask_eight(stage);
  stage.run(200);
  device.most = most;
  stage.run();
  expect_served(clients);
}

TEST(MemoryShortage, IsMetBySmallerStepsOnTheSameDevice) {
  for (const std::optional<int> overlaps : {std::optional<int>(), std::optional<int>(3)}) {
    small_device device;
    stage stage(device.setup(overlaps));
    stage.run();
    device = {.most = 3};
    const auto clients = ask_eight(stage);
    stage.run();
    expect_served(clients);
    EXPECT_GT(device.lacking_steps, 0);
    EXPECT_EQ(device.largest, 3U);
    EXPECT_EQ(device.opened, 0) << "its device was lost";
    EXPECT_GE(stage.metric("vllm:num_preemptions_total"), 4.0);
    EXPECT_EQ(stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}}), device.lacking_steps);
    EXPECT_TRUE(stage.status().ready && stage.status().live);
    stage.expect_idle();
  }
}

// While a step waits for its masks the runner may be asked what its device tells.
TEST(MemoryShortage, OfAStepThatWaitsForMasksIsTheStepsAlone) {
  small_device device;
  step_fault fault = step_fault::none;
  company_setup setup = device.setup(0);
  setup.adjust = [&, adjust = setup.adjust](supervisor_parts& parts) {
    adjust(parts);
    const auto watched = [&](runner_device made) {
      return runner_device{std::make_shared<late_fault>(made.target, fault), made.draft};
    };
    parts.device = watched(parts.device);
    parts.open_device = [watched, open = parts.open_device](bool with_draft) -> result<runner_device> {
      return watched(*open(with_draft));
    };
  };
  stage stage(setup);
  stage.run();
  fault = step_fault::is_next;
  sampling_params sampling = greedy(20);
  sampling.grammar =
      std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = "[a-z]*"});
  const auto who = stage.ask("hello", sampling);
  while (fault != step_fault::is_untold) ASSERT_GT(stage.run(1), 0U);
  caf::anon_send<caf::message_priority::high>(stage.roster().model_runner, msg::take_stock{});
  stage.run();
  ASSERT_EQ(who->ends.size(), 1U);
  EXPECT_EQ(who->tokens.size(), 20U);
  expect_alphabet(*who);
  EXPECT_EQ(device.opened, 0) << "its device was lost";
  EXPECT_EQ(stage.metric("troupe_gpu_graphs"), 1) << "it is asked later";
}

// More than a supervisor lets an actor fail that is to blame itself.
TEST(MemoryShortage, MayComeAsOftenAsItLikes) {
  small_device device;
  stage stage(device.setup());
  stage.run();
  for (int round = 0; round < 8; ++round) serve_eight(stage, device, 1);
  EXPECT_GT(device.lacking_steps, 8);
  EXPECT_EQ(device.opened, 0);
  EXPECT_TRUE(stage.status().live);
  stage.expect_idle();
}

// It has no smaller step: another one is opened, and nobody is to blame.
TEST(MemoryShortage, OfASingleRowIsTheEndOfTheDevice) {
  small_device device;
  company_setup setup = device.setup();
  bool is_gone = false;
  setup.before_step = [&is_gone](const device_batch&) {
    if (is_gone) throw out_of_device_memory("no memory at all");
  };
  setup.adjust = [adjust = setup.adjust, &is_gone](supervisor_parts& parts) {
    adjust(parts);
    parts.open_device = [open = parts.open_device, &is_gone](bool with_draft) {
      is_gone = false;
      return open(with_draft);
    };
  };
  for (int round = 0; round < 3; ++round) {
    stage stage(setup);
    stage.run();
    const auto clients = ask_eight(stage);
    stage.run(100);
    is_gone = true;
    stage.run();
    stage.advance(stage::runner_settles);
    stage.run();
    expect_served(clients);
    EXPECT_EQ(device.opened, round + 1);
    stage.expect_idle();
  }
}

// A prompt that is not to be cut, and that no step can hold: its request ends, as one that crashes the
// runner.
TEST(MemoryShortage, OfAPromptThatIsNotToBeCutEndsItsRequestAlone) {
  small_device device;
  company_setup setup = device.setup();
  setup.max_num_batched_tokens = 128;
  setup.before_step = [](const device_batch& batch) {
    if (batch.num_rows() >= 100) throw out_of_device_memory("no memory for a hundred rows");
  };
  setup.warm_up = warm_up_mode::skip;
  setup.adjust = [adjust = setup.adjust](supervisor_parts& parts) {
    parts.limits.enable_chunked_prefill = false;
    adjust(parts);
  };
  stage stage(setup);
  stage.run();
  const auto large = stage.ask(std::string(110, 'x'), 5);
  const auto small = stage.ask("hello", 20);
  stage.run();
  stage.advance(stage::runner_settles);
  stage.run();
  ASSERT_EQ(large->ends.size(), 1U);
  EXPECT_EQ(large->ends[0].reason, finish_reason::error);
  ASSERT_EQ(small->ends.size(), 1U);
  EXPECT_EQ(small->ends[0].reason, finish_reason::length);
  EXPECT_TRUE(stage.status().live);
  stage.expect_idle();
}

// The pause before the next runner, and what /readyz says, are those of the ends that count.
TEST(MemoryShortage, LeavesOtherEndsTheirDue) {
  small_device device;
  stage stage(device.setup());
  stage.run();
  for (int end = 0; end < 3; ++end) {
    device.most = 8;
    stage.kill(stage.roster().model_runner);
    stage.run();
    stage.advance(std::chrono::seconds(1));
    stage.run();
  }
  EXPECT_FALSE(stage.status().ready) << "it ends again and again";
  for (int second = 0; second < 11; ++second) {
    serve_eight(stage, device, 3);
    stage.advance(std::chrono::seconds(1));
  }
  EXPECT_GT(device.lacking_steps, 8);
  EXPECT_TRUE(stage.status().ready) << "none has ended for ten seconds, though some have lacked memory";
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
