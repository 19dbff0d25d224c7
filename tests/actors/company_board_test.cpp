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
