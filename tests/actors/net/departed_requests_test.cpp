#include "actors/net/departed_requests.hpp"

#include <gtest/gtest.h>

#include "tests/actors/net/observed_requests_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {
namespace {

class departed_requests_test : public ::testing::Test {
 protected:
  std::shared_ptr<request_tracker> track(std::int32_t choices) const {
    request_report report;
    report.wishes.emplace().choices = choices;
    return std::make_shared<request_tracker>(observers_, std::move(report));
  }
  std::shared_ptr<event_mailbox> open(std::size_t max_bytes = 1'000'000) {
    return std::make_shared<event_mailbox>(context_, max_bytes,
                                           [](bool) { FAIL() << "the client has left"; });
  }
  void run() {
    context_.restart();
    context_.run();
  }

  std::shared_ptr<observed_requests> seen_ = std::make_shared<observed_requests>();
  request_observers observers_{seen_};
  asio::io_context context_;
  departed_requests departed_;
};

TEST_F(departed_requests_test, are_told_when_their_last_answer_has_ended) {
  const auto events = open();
  auto tracker = track(2);
  events->push({7, piece("waits")}, 1);
  departed_.follow(events, {{7, {tracker, 0}}, {8, {tracker, 1}}});
  tracker.reset();
  run();
  const steady_time left_before = std::chrono::steady_clock::now();
  events->push({7, last_piece(finish_reason::abort)}, 1);
  run();
  EXPECT_TRUE(seen_->reports().empty()) << "one answer is open";
  events->push({9, piece("nobody's")}, 1);
  events->push({8, last_piece(finish_reason::stop)}, 1);
  run();
  ASSERT_EQ(seen_->reports().size(), 1U);
  const request_report report = seen_->reports()[0];
  EXPECT_EQ(report.reasons, (std::vector{finish_reason::abort, finish_reason::stop}));
  EXPECT_EQ(report.tokens.completion_tokens, 4);
  EXPECT_LE(report.ended, left_before) << "the client left then, whenever the engine told the end";
}

TEST_F(departed_requests_test, are_told_with_what_is_known_when_the_server_ends) {
  const auto events = open();
  departed_.follow(events, {{0, {track(1), 0}}});
  events->push({0, piece("a")}, 1);
  run();
  EXPECT_TRUE(seen_->reports().empty());
  departed_.end();
  ASSERT_EQ(seen_->reports().size(), 1U);
  EXPECT_EQ(seen_->reports()[0].tokens.completion_tokens, 1);
  departed_.follow(open(), {{0, {track(1), 0}}});
  EXPECT_EQ(seen_->reports().size(), 2U) << "later ones at once";
  events->push({0, last_piece()}, 1);
  run();
  EXPECT_EQ(seen_->reports().size(), 2U);
}

TEST_F(departed_requests_test, do_not_wait_for_ends_that_were_dropped) {
  const auto events = open(10);
  events->push({0, piece("more than fits")}, 100);
  events->push({0, last_piece()}, 1);
  departed_.follow(events, {{0, {track(1), 0}}});
  run();
  ASSERT_EQ(seen_->reports().size(), 1U);
  EXPECT_EQ(seen_->reports()[0].reasons, std::vector{finish_reason::abort});
}

}  // namespace
}  // namespace troupe::net::testing
