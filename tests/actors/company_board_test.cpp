// Who is late, as the board tells it.
#include "actors/company_board.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/scheduler/step_work.hpp"

namespace troupe::test {
namespace {

using std::chrono::seconds;

TEST(CompanyBoard, AStepOfTwiceTheSizeHasTwiceTheTime) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.ready();
  board.step_started(begin, 512);
  EXPECT_TRUE(board.status(begin + seconds(10)).live);
  EXPECT_FALSE(board.status(begin + seconds(15)).live);
  board.step_started(begin, 1024);
  EXPECT_TRUE(board.status(begin + seconds(15)).live) << "a long prompt is honest work";
  EXPECT_TRUE(board.status(begin + seconds(20)).live);
  EXPECT_FALSE(board.status(begin + seconds(21)).live);
  EXPECT_EQ(board.status(begin + seconds(21)).reason, "a step does not end");
  board.step_ended();
  EXPECT_TRUE(board.status(begin + seconds(21)).live);
}

// 8,000 tokens: 8,000 * 7,999 / 2 positions, which are as much as 15,623 rows, and their own.
TEST(CompanyBoard, APromptInOneStepHasTimeForItsAttention) {
  batch_rows step;
  step.tokens.resize(8000);
  step.positions.resize(8000);
  std::iota(step.positions.begin(), step.positions.end(), 0);
  EXPECT_EQ(work_of(step), 8000 + 15'623);
  const steady_time begin{seconds(1000)};
  company_board board(seconds(1));
  board.step_started(begin, work_of(step));
  EXPECT_TRUE(board.status(begin + seconds(47)).live) << "(8,000 + 15,623) / 512 rows, rounded up";
  EXPECT_FALSE(board.status(begin + seconds(48)).live);
}

TEST(CompanyBoard, AStepHangsADeadlineAfterItsOwn) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.step_started(begin, 1024);
  EXPECT_FALSE(board.hangs(begin + seconds(30)));
  EXPECT_TRUE(board.hangs(begin + seconds(31)));
  board.step_started(begin, 1);
  EXPECT_TRUE(board.hangs(begin + seconds(21)));
}

TEST(CompanyBoard, AStepOfTheWarmUpHasTheDeadlineOfAnyStep) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.warm_up_step_started(begin, 1024);
  EXPECT_TRUE(board.status(begin + seconds(20)).live);
  EXPECT_FALSE(board.status(begin + seconds(21)).live);
  EXPECT_EQ(board.status(begin + seconds(21)).reason, "a step of the warm-up does not end");
  EXPECT_FALSE(board.hangs(begin + seconds(30)));
  EXPECT_TRUE(board.hangs(begin + seconds(31)));
  board.warm_up_step_ended();
  EXPECT_TRUE(board.status(begin + seconds(31)).live);
  board.warm_up_step_started(begin, 1);
  board.runner_ended(begin + seconds(1));
  EXPECT_TRUE(board.status(begin + seconds(31)).live) << "nobody works at it any more";
}

TEST(CompanyBoard, AStepOfTheWarmUpThatWaitsBehindALongPromptIsNotLate) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.step_started(begin, 2048);
  board.warm_up_step_started(begin, 1);
  board.step_ended();
  EXPECT_TRUE(board.status(begin + seconds(49)).live);
  EXPECT_FALSE(board.status(begin + seconds(51)).live);
  board.warm_up_step_started(begin, 1);
  board.step_started(begin, 2048);
  board.step_ended();
  EXPECT_TRUE(board.status(begin + seconds(49)).live) << "whichever was sent first";
  board.warm_up_step_ended();
  board.step_started(begin, 1);
  board.step_ended();
  EXPECT_TRUE(board.status(begin + seconds(500)).live) << "the item is over";
}

TEST(CompanyBoard, ASupervisorThatLooksAfterNobodyIsNotLive) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  EXPECT_TRUE(board.status(begin).live) << "it has not begun";
  board.looked_after(begin, std::nullopt);
  EXPECT_TRUE(board.status(begin + seconds(15)).live) << "on a busy machine it may be late";
  EXPECT_FALSE(board.status(begin + seconds(21)).live);
  EXPECT_EQ(board.status(begin + seconds(21)).reason, "the supervisor does not answer");
  board.looked_after(begin + seconds(21), std::nullopt);
  EXPECT_TRUE(board.status(begin + seconds(21)).live);
  board.looked_after(begin + seconds(22), "tokenizer 1");
  EXPECT_EQ(board.status(begin + seconds(22)).reason, "tokenizer 1 does not answer");
}

TEST(CompanyBoard, ANewDeadlineIsOfTheStepsToCome) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.step_started(begin, 1);
  board.set_step_deadline(seconds(100));
  EXPECT_FALSE(board.status(begin + seconds(11)).live);
  board.step_started(begin, 1);
  EXPECT_TRUE(board.status(begin + seconds(99)).live);
}

// Whoever spreads requests over services need not hear of what lasts for less than a second.
TEST(CompanyBoard, ARunnerThatIsReplacedForLongOrOftenIsNotReadyAndTakesRequestsAllTheSame) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(100));
  board.ready();
  board.runner_is_back(begin);
  board.runner_ended(begin + seconds(60));
  EXPECT_TRUE(board.status(begin + seconds(65)).ready);
  EXPECT_FALSE(board.status(begin + seconds(66)).ready);
  EXPECT_EQ(board.status(begin + seconds(66)).reason, "the model runner is being replaced");
  EXPECT_TRUE(board.status(begin + seconds(66)).takes_requests());
  board.runner_ended(begin + seconds(67));
  EXPECT_FALSE(board.status(begin + seconds(67)).ready) << "there has been none in between";
  board.runner_is_back(begin + seconds(68));
  EXPECT_TRUE(board.status(begin + seconds(68)).ready);
  board.runner_ended(begin + seconds(70));
  EXPECT_FALSE(board.status(begin + seconds(70)).ready);
  EXPECT_EQ(board.status(begin + seconds(70)).reason, "the model runner ends again and again");
  board.runner_is_back(begin + seconds(71));
  EXPECT_FALSE(board.status(begin + seconds(80)).ready);
  EXPECT_TRUE(board.status(begin + seconds(80)).takes_requests());
  EXPECT_TRUE(board.status(begin + seconds(81)).ready);
  board.runner_ended(begin + seconds(82));
  EXPECT_TRUE(board.status(begin + seconds(82)).ready) << "the first one again";
}

// It is nobody's fault but the device's, which has a deadline of its own.
TEST(CompanyBoard, RequestsThatWaitForARunnerAreNotAQueueThatDoesNotMove) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.ready();
  board.runner_ended(begin);
  board.queue_waits(begin);
  EXPECT_TRUE(board.status(begin + seconds(11)).takes_requests());
  EXPECT_TRUE(board.status(begin + seconds(70)).takes_requests());
  EXPECT_FALSE(board.status(begin + seconds(71)).takes_requests()) << "none has opened in a minute and more";
  EXPECT_EQ(board.status(begin + seconds(71)).reason, "the queue does not move");
  board.runner_is_back(begin + seconds(71));
  board.queue_waits(begin + seconds(71));
  EXPECT_TRUE(board.status(begin + seconds(81)).takes_requests()) << "it has as long as ever";
  EXPECT_FALSE(board.status(begin + seconds(82)).live);
}

TEST(CompanyBoard, TheQueueWaitsForADeviceThatGetsOnAsItOpens) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.ready();
  board.runner_ended(begin);
  board.queue_waits(begin);
  board.opening_gets_on(begin + seconds(500));
  EXPECT_TRUE(board.status(begin + seconds(570)).takes_requests());
  EXPECT_FALSE(board.status(begin + seconds(571)).live) << "for a minute and more it has got nowhere";
}

TEST(CompanyBoard, ADeviceThatGetsNowhereAsItOpensIsNotLiveAndRefusesNobody) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.ready();
  board.runner_ended(begin);
  board.opening_gets_on(begin + seconds(1), "it has got nowhere");
  const net::engine_status late = board.status(begin + seconds(31));
  EXPECT_FALSE(late.live || late.ready);
  EXPECT_EQ(late.reason, "it has got nowhere");
  EXPECT_TRUE(late.takes_requests() && late.is_dealt_with);
  board.opening_gets_on(begin + seconds(32));
  EXPECT_TRUE(board.status(begin + seconds(32)).live);
  for (const auto next : {&company_board::runner_ended, &company_board::runner_is_back}) {
    board.opening_gets_on(begin + seconds(1), "it has got nowhere");
    (board.*next)(begin + seconds(33));
    EXPECT_TRUE(board.status(begin + seconds(33)).live);
  }
  board.opening_gets_on(begin + seconds(34), "it has got nowhere");
  board.draining();
  EXPECT_FALSE(board.status(begin + seconds(34)).takes_requests());
  EXPECT_TRUE(board.status(begin + seconds(34)).is_dealt_with);
}

TEST(CompanyBoard, ADeviceThatGetsNowhereBeforeAnyoneIsServedIsDealtWithToo) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.runner_ended(begin);
  board.opening_gets_on(begin, "it has got nowhere");
  EXPECT_TRUE(board.status(begin).is_dealt_with);
  EXPECT_FALSE(board.status(begin).takes_requests());
  board.failed("model_runner", "does not end");
  EXPECT_FALSE(board.status(begin).is_dealt_with);
  EXPECT_EQ(board.status(begin).reason, "model_runner does not end");
}

TEST(CompanyBoard, EverybodyWhoWaitsToHearOfAFailureHearsOnce) {
  company_board board(seconds(10));
  std::vector<std::string> heard;
  const auto hear = [&](const std::string& as) {
    return [&heard, as](const std::string& actor) { heard.push_back(as + actor); };
  };
  board.on_failure(hear("first: "));
  board.on_failure([](const std::string&) { throw std::runtime_error("mine"); });
  board.on_failure({});
  board.on_failure(hear("last: "));
  board.tell_failure();
  EXPECT_TRUE(heard.empty());
  board.failed("scheduler");
  board.failed("kv_cache");
  EXPECT_TRUE(heard.empty());
  board.tell_failure();
  board.tell_failure();
  board.on_failure(hear("late: "));
  EXPECT_EQ(heard, (std::vector<std::string>{"first: scheduler", "last: scheduler", "late: scheduler"}));
}

TEST(CompanyBoard, ARunnerThatIsReplacedChangesNothingWhereNobodyIsToBeServed) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(100));
  for (int i = 0; i < 3; ++i) board.runner_ended(begin);
  EXPECT_EQ(board.status(begin + seconds(6)).reason, "starting");
  board.runner_is_back(begin + seconds(6));
  board.ready();
  EXPECT_TRUE(board.status(begin + seconds(6)).ready);
  for (int i = 0; i < 3; ++i) board.runner_ended(begin + seconds(7));
  board.draining();
  EXPECT_FALSE(board.status(begin + seconds(7)).takes_requests());
}

}  // namespace
}  // namespace troupe::test
