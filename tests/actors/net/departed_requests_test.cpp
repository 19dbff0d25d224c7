#include "actors/net/departed_requests.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "actors/net/http/http_server.hpp"
#include "actors/net/tcp/tcp_server.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"
#include "tests/actors/net/tcp/frame_client_fixture.hpp"
#include "tests/actors/net/telemetry/observed_requests_fixture.hpp"

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
    return std::make_shared<event_mailbox>(context_, max_bytes, [](bool) { FAIL() << "it is another's"; });
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
  events->push({7, piece("waits")}, 1);
  departed_.follow(events, {{7, track(2)}, {9, track(1)}});
  run();
  const steady_time left_before = std::chrono::steady_clock::now();
  events->push({7, last_piece(finish_reason::abort)}, 1);
  run();
  EXPECT_TRUE(seen_->reports().empty()) << "one answer is open";
  events->push({10, piece("nobody's")}, 1);
  events->push({8, last_piece(finish_reason::stop)}, 1);
  run();
  ASSERT_EQ(seen_->reports().size(), 1U);
  const request_report report = seen_->reports()[0];
  EXPECT_EQ(report.reasons, (std::vector{finish_reason::abort, finish_reason::abort}));
  EXPECT_EQ(report.tokens.completion_tokens, 4);
  EXPECT_LE(report.ended, left_before) << "it was given up then, whenever the engine told the end";
  events->push({9, last_piece()}, 1);
  run();
  EXPECT_EQ(seen_->reports().size(), 2U);
}

TEST_F(departed_requests_test, are_told_with_what_is_known_when_the_server_ends) {
  const auto events = open();
  departed_.follow(events, {{0, track(1)}});
  events->push({0, piece("a")}, 1);
  run();
  EXPECT_TRUE(seen_->reports().empty());
  departed_.end();
  ASSERT_EQ(seen_->reports().size(), 1U);
  EXPECT_EQ(seen_->reports()[0].tokens.completion_tokens, 1);
  departed_.follow(open(), {{0, track(1)}});
  EXPECT_EQ(seen_->reports().size(), 2U) << "later ones at once";
  events->push({0, last_piece()}, 1);
  run();
  EXPECT_EQ(seen_->reports().size(), 2U);
}

TEST_F(departed_requests_test, do_not_wait_for_ends_that_were_dropped) {
  const auto before = open(10);
  before->push({0, piece("more than fits")}, 100);
  before->push({0, last_piece()}, 1);
  departed_.follow(before, {{0, track(1)}});
  run();
  EXPECT_EQ(seen_->reports().size(), 1U);
  const auto after = open(10);
  departed_.follow(after, {{0, track(1)}});
  after->push({0, piece("more than fits")}, 100);
  after->push({0, last_piece()}, 1);
  run();
  EXPECT_EQ(seen_->reports().size(), 2U);
}

// A client of either server that leaves before its first token.
class leaver {
 public:
  explicit leaver(bool is_tcp) {
    engine_.hold_ends();
    http_options http;
    tcp_options tcp;
    http.observers = tcp.observers = {seen_};
    if (is_tcp) tcp_ = *tcp_server::start(tcp, engine_);
    if (!is_tcp) http_ = *http_server::start(http, engine_);
  }

  void ask_and_leave(const std::string& body) {
    if (tcp_) {
      frame_client client(tcp_->port());
      client.greet();
      client.send(wire::frame_type::generate, 9, body);
      client.send(wire::frame_type::generate, 10, body);
      engine_.wait_for_request(2);
    } else {
      raw_client client(http_->port());
      client.send(post_text("/v1/completions", body));
      engine_.wait_for_request(1);
    }
    for (request_id id = 1; id <= engine_.requests(); ++id) engine_.wait_for_abort(id);
    while (tcp_ ? tcp_->connections() > 0 : http_->connections() > 0) std::this_thread::yield();
  }
  void close_server() {
    if (tcp_) tcp_->close();
    if (http_) http_->close();
  }
  void destroy_server() {
    tcp_.reset();
    http_.reset();
  }

  scripted_engine& engine() { return engine_; }
  observed_requests& seen() { return *seen_; }

 private:
  std::shared_ptr<observed_requests> seen_ = std::make_shared<observed_requests>();
  scripted_engine engine_{scripted_engine::pace::by_hand};
  std::optional<tcp_server> tcp_;
  std::optional<http_server> http_;
};

class clients_that_leave : public ::testing::TestWithParam<bool> {};

TEST_P(clients_that_leave, are_told_of_with_what_the_engine_tells_at_the_end) {
  for (const char* const body : {R"({"prompt":"secret"})", R"({"prompt":"secret","stream":true})"}) {
    leaver who(GetParam());
    who.ask_and_leave(body);
    EXPECT_TRUE(who.seen().reports().empty());
    std::thread([&] { who.engine().release_ends(); }).join();
    who.seen().wait_for(who.engine().requests());
    const auto reports = who.seen().reports();
    ASSERT_EQ(reports.size(), who.engine().requests()) << body;
    for (const request_report& report : reports) {
      EXPECT_EQ(report.reasons, std::vector{finish_reason::abort});
      EXPECT_EQ(report.tokens.prompt_tokens, 3);
      EXPECT_EQ(report.tokens.completion_tokens, 2);
    }
  }
}

TEST_P(clients_that_leave, are_told_of_by_the_end_of_the_server_whenever_the_engine_tells_their_ends) {
  leaver who(GetParam());
  who.ask_and_leave(R"({"prompt":"secret"})");
  who.close_server();
  const auto reports = who.seen().reports();
  EXPECT_EQ(reports.size(), who.engine().requests());
  for (const request_report& report : reports) EXPECT_EQ(report.tokens.prompt_tokens, 0);
  who.destroy_server();
  std::thread([&] { who.engine().release_ends(); }).join();
  EXPECT_EQ(who.seen().reports().size(), reports.size());
}

TEST_P(clients_that_leave, may_have_their_ends_told_while_the_server_ends) {
  leaver who(GetParam());
  who.ask_and_leave(R"({"prompt":"secret"})");
  std::thread engine([&] { who.engine().release_ends(); });
  who.destroy_server();
  engine.join();
  EXPECT_EQ(who.seen().reports().size(), who.engine().requests());
}

INSTANTIATE_TEST_SUITE_P(of, clients_that_leave, ::testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "tcp" : "http"; });

}  // namespace
}  // namespace troupe::net::testing
