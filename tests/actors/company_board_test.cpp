// Who is late, as the board tells it.
#include "actors/company_board.hpp"

#include <gtest/gtest.h>

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

TEST(CompanyBoard, AStepHangsADeadlineAfterItsOwn) {
  const steady_time begin{seconds(1000)};
  company_board board(seconds(10));
  board.step_started(begin, 1024);
  EXPECT_FALSE(board.hangs(begin + seconds(30)));
  EXPECT_TRUE(board.hangs(begin + seconds(31)));
  board.step_started(begin, 1);
  EXPECT_TRUE(board.hangs(begin + seconds(21)));
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

}  // namespace
}  // namespace troupe::test
