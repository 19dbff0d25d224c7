// What the runner of a draft model hears from the drafter, and when it is asked.
#include "actors/drafter/model_drafter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

// What came to a runner, whose draft model drafts nothing.
struct heard {
  std::vector<request_id> opened;
  std::vector<request_id> ended;
  int questions = 0;
  int firsts = 0;

  void take(const draft_work& work) {
    firsts += work.is_first ? 1 : 0;
    for (const engine_request_ptr& request : work.opened) opened.push_back(request->id);
    ended.insert(ended.end(), work.news.ended.begin(), work.news.ended.end());
  }
};

model_runner_actor::behavior_type listening_runner(model_runner_actor::pointer, std::shared_ptr<heard> all,
                                                   drafts_ptr answer) {
  return {[](const msg::open_device&) { return msg::device_opened{}; },
          [](const msg::warm_up&, const warm_up_task_ptr&) { return msg::warmed_up{}; },
          [](const msg::run_step&, const step_batch_ptr&) -> caf::result<msg::step_done, step_result_ptr> {
            return caf::make_error(caf::sec::runtime_error);
          },
          [](const msg::apply_masks&, const step_masks_ptr&) -> step_result_ptr { return nullptr; },
          [](const msg::abandon_masks&) {},
          [](const msg::collect_tokens&) {},
          [all](const msg::observe_tokens&, const draft_work_ptr& work) { all->take(*work); },
          [all, answer](const msg::propose_drafts&, const draft_work_ptr& work) {
            all->take(*work);
            ++all->questions;
            return answer;
          },
          [](const msg::take_stock&) {}};
}

// The drafter beside a company that has none.
class ModelDrafter : public testing::Test {
 protected:
  ~ModelDrafter() override {
    stage_.kill(drafter_);
    stage_.kill(runner_);
    stage_.run();
  }
  void meet_runner(drafts_ptr answer) {
    runner_ = stage_.system().spawn(listening_runner, all_, std::move(answer));
    company_roster roster;
    roster.model_runner = runner_;
    caf::anon_send(drafter_, msg::meet{}, std::make_shared<const company_roster>(std::move(roster)));
  }
  void open(request_id id) {
    engine_request request;
    request.id = id;
    request.prompt = {1, 2, 3};
    request.sampling = std::make_shared<const sampling_params>();
    caf::anon_send(drafter_, msg::open_drafts{id},
                   std::make_shared<const engine_request>(std::move(request)));
  }
  void end(request_id id) {
    caf::anon_send(drafter_, msg::observe_tokens{},
                   std::make_shared<const draft_news>(draft_news{.ended = {id}}));
  }
  void ask() {
    caf::anon_send(drafter_, msg::propose_drafts{},
                   std::make_shared<const draft_news>(draft_news{.outputs = {{1, 1}}, .tokens = {7}}));
    stage_.run();
  }

  stage stage_;
  drafter_actor drafter_ = stage_.system().spawn(
      model_drafter_behavior, std::make_shared<metrics::engine_metrics>(metrics::metrics_options{}));
  model_runner_actor runner_;
  std::shared_ptr<heard> all_ = std::make_shared<heard>();
};

TEST_F(ModelDrafter, OpensNoRequestThatHasEndedOrGoneOnWhileThereWasNoRunner) {
  open(1);
  open(2);
  end(2);
  open(3);
  ask();
  meet_runner(std::make_shared<const std::vector<draft>>());
  ask();
  EXPECT_EQ(all_->opened, std::vector<request_id>{3}) << "a token of 1 is lost";
  EXPECT_TRUE(all_->ended.empty());
  end(3);
  ask();
  EXPECT_EQ(all_->ended, std::vector<request_id>{3});
}

TEST_F(ModelDrafter, SaysOnceThatTheRequestsOfAnEarlierOneAreNobodysAnyMore) {
  meet_runner(std::make_shared<const std::vector<draft>>());
  open(1);
  ask();
  EXPECT_EQ(all_->firsts, 1);
  ask();
  end(1);
  ask();
  EXPECT_EQ(all_->firsts, 1);
}

TEST_F(ModelDrafter, AsksOnlyNowAndThenAModelThatSaysThatNothingPays) {
  meet_runner(nullptr);
  open(1);
  for (int i = 0; i < 18; ++i) ask();
  EXPECT_EQ(all_->questions, 2);
  EXPECT_EQ(all_->opened, std::vector<request_id>{1});
  open(2);
  ask();
  EXPECT_EQ(all_->questions, 3) << "somebody new";
}

}  // namespace
}  // namespace troupe::test
