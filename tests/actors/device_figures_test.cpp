// What a device tells of itself, in the metrics.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

class device_with_figures final : public forwarding_executor {
 public:
  explicit device_with_figures(std::shared_ptr<device_figures> told,
                               std::shared_ptr<executor> device = make_null_executor({4, 64, 1},
                                                                                     company_setup().script))
      : forwarding_executor(std::move(device)), told_(std::move(told)) {}
  std::optional<device_figures> figures() override {
    if (told_->graphs < 0) throw device_lost("no figures");
    return *told_;
  }

 private:
  std::shared_ptr<device_figures> told_;
};

TEST(DeviceFigures, TheMetricsTellWhatTheDeviceTellsOfItself) {
  const auto told = std::make_shared<device_figures>(device_figures{"no such bus", 1000, 400, 0});
  company_setup setup;
  setup.adjust = [&](supervisor_parts& parts) {
    parts.open_device = [told](bool) -> result<runner_device> {
      return runner_device{std::make_shared<device_with_figures>(told), nullptr};
    };
  };
  stage stage(setup);
  stage.run();
  EXPECT_EQ(stage.metric("troupe_gpu_memory_used_bytes"), 600);
  told->graphs = 9;
  stage.take_stock();
  EXPECT_EQ(stage.metric("troupe_gpu_graphs"), 9);
  // Counters never go back, though another runner begins to count again.
  for (const auto& [prompts, decodes] :
       {std::pair{5, 3}, std::pair{7, 3}, std::pair{2, 0}, std::pair{2, 1}}) {
    told->eager_steps = static_cast<std::uint64_t>(prompts);
    told->eager_decodes = static_cast<std::uint64_t>(decodes);
    stage.take_stock();
  }
  EXPECT_EQ(stage.metric("troupe_gpu_eager_steps_total"), 9);
  EXPECT_EQ(stage.metric("troupe_gpu_eager_decode_steps_total"), 4);
  told->graphs = -1;
  stage.take_stock();
  EXPECT_EQ(stage.metric("troupe_gpu_graphs"), 9) << "one that cannot answer is asked again, and serves on";
  stage.expect_served();
}

// Its counts go on where the next runner gets it.
TEST(DeviceFigures, OfADeviceThatWasLeftForWantOfMemoryAreCountedOnce) {
  const auto told = std::make_shared<device_figures>(device_figures{"no such bus", 1000, 400, 0, 30, 20});
  bool lacks_memory = false;
  company_setup setup;
  setup.before_step = [&](const device_batch&) {
    if (std::exchange(lacks_memory, false)) throw out_of_device_memory("somebody else has it");
  };
  setup.adjust = [&](supervisor_parts& parts) {
    parts.open_device = [told, open = parts.open_device](bool with_draft) -> result<runner_device> {
      return runner_device{std::make_shared<device_with_figures>(told, open(with_draft)->target), nullptr};
    };
  };
  stage stage(setup);
  stage.run();
  stage.take_stock();
  ASSERT_EQ(stage.metric("troupe_gpu_eager_steps_total"), 30);
  for (int shortages = 1; shortages <= 3; ++shortages) {
    lacks_memory = true;
    stage.expect_served();
    EXPECT_FALSE(lacks_memory);
    EXPECT_EQ(stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}}), shortages);
    ++told->eager_steps;
    stage.take_stock();
    EXPECT_EQ(stage.metric("troupe_gpu_eager_steps_total"), 30 + shortages);
    EXPECT_EQ(stage.metric("troupe_gpu_eager_decode_steps_total"), 20);
  }
  stage.kill(stage.roster().model_runner);  // another device counts from 0
  stage.run();
  *told = {"no such bus", 1000, 400, 0, 40, 0};
  stage.take_stock();
  EXPECT_EQ(stage.metric("troupe_gpu_eager_steps_total"), 33 + 40);
}

TEST(DeviceFigures, ADraftModelsStepsAndGraphsAreAmongThem) {
  const auto told = std::make_shared<device_figures>(device_figures{"no such bus", 1000, 400, 2, 10, 3});
  const auto drafts = std::make_shared<device_figures>(device_figures{"no such bus", 1000, 400, 1, 5, 4});
  company_setup setup;
  setup.warm_up = warm_up_mode::skip;
  setup.adjust = [&](supervisor_parts& parts) {
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::draft_model;
    const auto open = [told, drafts](bool = true) -> result<runner_device> {
      return runner_device{std::make_shared<device_with_figures>(told),
                           std::make_shared<draft_model>(std::make_shared<device_with_figures>(drafts),
                                                         draft_model_options{.max_model_len = 64})};
    };
    parts.device = *open();
    parts.open_device = open;
  };
  stage stage(setup);
  stage.run();
  stage.take_stock();
  EXPECT_EQ(stage.metric("troupe_gpu_memory_used_bytes"), 600) << "the device is one";
  EXPECT_EQ(stage.metric("troupe_gpu_graphs"), 3);
  EXPECT_EQ(stage.metric("troupe_gpu_eager_steps_total"), 15);
  EXPECT_EQ(stage.metric("troupe_gpu_eager_decode_steps_total"), 7);
}

}  // namespace
}  // namespace troupe::test
