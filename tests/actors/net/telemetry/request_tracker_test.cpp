#include "actors/net/telemetry/request_tracker.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "actors/net/http/http_server.hpp"
#include "actors/net/tcp/tcp_server.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"
#include "tests/actors/net/tcp/frame_client_fixture.hpp"
#include "tests/actors/net/telemetry/observed_requests_fixture.hpp"

namespace troupe::net::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using wire::frame_type;

steady_time at(int ms) { return steady_time(milliseconds(1'000 + ms)); }

request_report begun(std::int32_t choices) {
  request_report report;
  report.id = "chatcmpl-1";
  report.received = std::chrono::steady_clock::now();
  report.wishes.emplace().choices = choices;
  return report;
}

stream_event first_piece() {
  stream_event event = piece("a");
  event.prompt_tokens = {5, 6, 7};
  return event;
}

finished end_by(finish_reason reason, usage tokens) {
  finished end;
  end.reason = reason;
  end.tokens = tokens;
  return end;
}

stream_event event_of(finished end) {
  stream_event event;
  event.end = std::move(end);
  return event;
}

class request_tracker_test : public ::testing::Test {
 protected:
  std::shared_ptr<observed_requests> seen_ = std::make_shared<observed_requests>();
  request_observers observers_{seen_};
};

TEST_F(request_tracker_test, tells_of_a_request_once_and_when_it_goes) {
  {
    request_tracker tracker(observers_, begun(1));
    tracker.add(0, first_piece());
    tracker.add(0, event_of(end_by(finish_reason::length, {31, 12, 16})));
    EXPECT_TRUE(seen_->reports().empty());
  }
  ASSERT_EQ(seen_->reports().size(), 1U);
  const request_report report = seen_->reports()[0];
  EXPECT_EQ(report.id, "chatcmpl-1");
  EXPECT_EQ(report.reasons, std::vector{finish_reason::length});
  EXPECT_EQ(report.tokens.prompt_tokens, 31);
  EXPECT_EQ(report.tokens.completion_tokens, 12);
  EXPECT_EQ(report.tokens.cached_tokens, 16);
  EXPECT_FALSE(report.failure);
  EXPECT_GE(report.ended, report.received);
}

TEST_F(request_tracker_test, joins_the_answers_of_one_request) {
  finished one = end_by(finish_reason::stop, {3, 4, 2});
  one.preemptions = 1;
  one.accepted_drafts = 5;
  one.grammar_wait = milliseconds(7);
  one.times = request_times{at(1), at(20), at(40), at(90)};
  finished other = end_by(finish_reason::length, {3, 5, 0});
  other.preemptions = 2;
  other.accepted_drafts = 6;
  other.grammar_wait = milliseconds(3);
  other.times = request_times{at(1), at(10), at(50), at(80)};
  {
    request_tracker tracker(observers_, begun(3));
    tracker.add(1, event_of(one));
    tracker.add(0, event_of(other));
    tracker.add(2, first_piece());
  }
  const request_report report = seen_->reports().at(0);
  EXPECT_EQ(report.reasons, (std::vector{finish_reason::length, finish_reason::stop, finish_reason::abort}));
  EXPECT_EQ(report.tokens.prompt_tokens, 3);
  EXPECT_EQ(report.tokens.completion_tokens, 10);
  EXPECT_EQ(report.preemptions, 3);
  EXPECT_EQ(report.accepted_drafts, 11);
  EXPECT_EQ(report.grammar_wait, nanoseconds(milliseconds(7)));
  EXPECT_EQ(report.times.arrival, at(1));
  EXPECT_EQ(report.times.scheduled, at(10));
  EXPECT_EQ(report.times.first_token, at(40));
  EXPECT_GE(report.times.last_token, at(90)) << "of the one that was given up it is when that was seen";
}

TEST_F(request_tracker_test, an_answer_that_nobody_waited_for_was_aborted) {
  { const request_tracker tracker(observers_, begun(1)); }
  const request_report report = seen_->reports().at(0);
  EXPECT_EQ(report.reasons, std::vector{finish_reason::abort});
  EXPECT_FALSE(report.times.scheduled);
}

TEST_F(request_tracker_test, an_answer_that_was_given_up_has_the_times_that_came_with_its_first_tokens) {
  stream_event first = first_piece();
  first.times = request_times{at(1), at(20), at(40), at(40)};
  { request_tracker(observers_, begun(1)).add(0, first); }
  const request_times times = seen_->reports().at(0).times;
  EXPECT_EQ(times.arrival, at(1));
  EXPECT_EQ(times.scheduled, at(20));
  EXPECT_EQ(times.first_token, at(40));
}

TEST_F(request_tracker_test, an_answer_that_was_given_up_has_the_tokens_that_were_cached) {
  {
    request_tracker tracker(observers_, begun(1));
    stream_event first = first_piece();
    first.cached_tokens = 2;
    tracker.add(0, first);
    tracker.add(0, piece("b"));
  }
  EXPECT_EQ(seen_->reports().at(0).tokens.cached_tokens, 2);
}

TEST_F(request_tracker_test, an_answer_that_was_given_up_has_the_times_that_were_seen) {
  const steady_time before = std::chrono::steady_clock::now();
  {
    request_tracker tracker(observers_, begun(1));
    tracker.add(0, first_piece());
    tracker.add(0, first_piece());
  }
  const request_report report = seen_->reports().at(0);
  EXPECT_EQ(report.reasons, std::vector{finish_reason::abort});
  EXPECT_EQ(report.times.arrival, report.received);
  ASSERT_TRUE(report.times.first_token && report.times.last_token);
  EXPECT_GE(*report.times.first_token, before);
  EXPECT_LE(*report.times.first_token, *report.times.last_token);
  EXPECT_LE(*report.times.last_token, report.ended);
}

// By whoever takes the place of a part that is gone.
TEST_F(request_tracker_test, an_answer_whose_end_knows_nothing_of_it_has_what_was_seen) {
  {
    request_tracker tracker(observers_, begun(1));
    stream_event first = first_piece();
    first.times = request_times{at(1), at(20), at(40), at(40)};
    first.cached_tokens = 2;
    tracker.add(0, first);
    tracker.add(0, piece("b"));
    tracker.add(0, failed({error_code::unavailable, "the gateway has ended"}));
    EXPECT_EQ(tracker.tokens(0).completion_tokens, 2);
  }
  const request_report report = seen_->reports().at(0);
  EXPECT_EQ(report.reasons, std::vector{finish_reason::error});
  EXPECT_EQ(report.tokens.prompt_tokens, 3);
  EXPECT_EQ(report.tokens.completion_tokens, 2);
  EXPECT_EQ(report.tokens.cached_tokens, 2);
  EXPECT_EQ(report.times.first_token, at(40));
  EXPECT_GT(report.times.last_token, at(40));
}

TEST_F(request_tracker_test, a_failure_before_the_first_token_is_a_refusal_and_later_an_end) {
  const error full{error_code::resource_exhausted, "the prompt 'secret' found the queue full", {}, 7};
  { request_tracker(observers_, begun(1)).add(0, failed(full)); }
  {
    finished broken = end_by(finish_reason::error, {3, 1, 0});
    broken.failure = error{error_code::internal, "a fault"};
    request_tracker(observers_, begun(1)).add(0, event_of(broken));
  }
  const auto reports = seen_->reports();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_TRUE(reports[0].reasons.empty());
  EXPECT_EQ(reports[0].failure->status, 429);
  EXPECT_EQ(reports[0].failure->code, "rate_limit_exceeded");
  EXPECT_EQ(reports[1].reasons, std::vector{finish_reason::error});
  EXPECT_EQ(reports[1].failure->status, 500);
}

TEST_F(request_tracker_test, one_that_was_given_up_was_aborted_then_and_has_no_later_times) {
  const steady_time early = std::chrono::steady_clock::now();
  const steady_time late = early + std::chrono::hours(1);
  for (const bool fails : {false, true}) {
    request_tracker tracker(observers_, begun(1));
    tracker.give_up();
    finished end = end_by(finish_reason::stop, {31, 2, 16});
    end.times = request_times{early, early, late, late};
    if (fails) end.failure = error{error_code::unavailable, "draining"};
    tracker.add(0, event_of(end));
    EXPECT_TRUE(tracker.all_ended());
  }
  ASSERT_EQ(seen_->reports().size(), 2U);
  for (const request_report& report : seen_->reports()) {
    EXPECT_EQ(report.reasons, std::vector{finish_reason::abort});
    EXPECT_TRUE(report.given_up);
    EXPECT_FALSE(report.failure);
    EXPECT_EQ(report.tokens.prompt_tokens, 31);
    EXPECT_EQ(report.times.scheduled, early);
    EXPECT_FALSE(report.times.first_token || report.times.last_token);
    EXPECT_LT(report.ended, late);
  }
}

class throwing_observer final : public request_observer {
 public:
  void ended(const request_report&) override { throw std::runtime_error("a full disk"); }
};

TEST_F(request_tracker_test, an_observer_that_fails_is_no_fault_of_the_request) {
  observers_.insert(observers_.begin(), std::make_shared<throwing_observer>());
  EXPECT_NO_THROW({ const request_tracker tracker(observers_, begun(1)); });
}

std::vector<request_report> http_reports(const std::function<void(raw_client&, http_server&)>& talk) {
  auto seen = std::make_shared<observed_requests>();
  {
    scripted_engine engine;
    http_options options;
    options.observers = {seen};
    http_server server = *http_server::start(options, engine);
    raw_client client(server.port());
    talk(client, server);
  }
  return seen->reports();
}

TEST(request_reports, of_http_are_one_for_each_generation_with_what_it_wanted) {
  const auto reports = http_reports([](raw_client& client, http_server&) {
    client.get("/health");
    client.post("/tokenize", R"({"prompt":"secret"})");
    client.post("/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"secret"}],"max_tokens":3,"temperature":0.5,)"
                R"("top_p":0.9})",
                "X-Request-Id: job-7\r\n");
    client.post("/v1/completions", R"({"prompt":"secret","n":2,"stream":true})");
  });
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].id, "chatcmpl-job-7");
  EXPECT_EQ(reports[0].client_id, "job-7");
  EXPECT_EQ(reports[0].gateway, "http");
  EXPECT_EQ(reports[0].route, "/v1/chat/completions");
  EXPECT_EQ(reports[0].model, "test-model");
  EXPECT_NE(reports[0].number, 0U);
  EXPECT_TRUE(reports[0].wishes->chat);
  EXPECT_EQ(reports[0].wishes->max_tokens, 3);
  EXPECT_EQ(reports[0].wishes->temperature, 0.5F);
  EXPECT_EQ(reports[0].wishes->top_p, 0.9F);
  EXPECT_EQ(reports[0].reasons, std::vector{finish_reason::length});
  EXPECT_EQ(reports[1].route, "/v1/completions");
  EXPECT_EQ(reports[1].wishes->choices, 2);
  EXPECT_FALSE(reports[1].wishes->chat);
  EXPECT_EQ(reports[1].reasons, (std::vector{finish_reason::length, finish_reason::length}));
  EXPECT_EQ(reports[1].tokens.completion_tokens, 32);
}

TEST(request_reports, of_http_are_one_for_each_post_that_is_refused) {
  const auto reports = http_reports([](raw_client& client, http_server& server) {
    client.post("/v1/completions", R"({"prompt":"secret","temperature":-1})");
    client.post("/v1/completions", R"({"prompt":"secret","model":"secret"})");
    client.post("/v1/completions", "secret");
    client.get("/nothing");
    raw_client(server.port()).post("/health", "{}");
    raw_client(server.port()).post("/%0asecret", "{}");
    raw_client babbler(server.port());
    babbler.send("secret\r\n\r\n");
    babbler.read_to_end();
  });
  struct expectation {
    std::string route;
    int status;
    std::string code;
    std::string param;
  };
  const std::vector<expectation> expected = {{"/v1/completions", 400, "invalid_value", "temperature"},
                                             {"/v1/completions", 404, "model_not_found", "model"},
                                             {"/v1/completions", 400, "invalid_value", ""},
                                             {"/health", 405, "method_not_allowed", ""},
                                             {"", 404, "not_found", ""},
                                             {"", 400, "bad_request", ""}};
  ASSERT_EQ(reports.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(reports[i].route, expected[i].route) << i;
    EXPECT_EQ(reports[i].failure->status, expected[i].status) << i;
    EXPECT_EQ(reports[i].failure->code, expected[i].code) << i;
    EXPECT_EQ(reports[i].failure->param, expected[i].param) << i;
    EXPECT_TRUE(reports[i].reasons.empty()) << i;
    EXPECT_TRUE(reports[i].id.empty()) << i;
  }
}

TEST(request_reports, of_tcp_are_one_for_each_number) {
  auto seen = std::make_shared<observed_requests>();
  {
    scripted_engine engine;
    tcp_options options;
    options.observers = {seen};
    tcp_server server = *tcp_server::start(options, engine);
    frame_client client(server.port());
    client.greet();
    client.send(frame_type::generate, 9, R"({"prompt":"secret","max_tokens":1})");
    EXPECT_EQ(client.read().type, frame_type::delta);
    EXPECT_EQ(client.read().type, frame_type::finished);
    client.send(frame_type::generate, 10, R"({"prompt":"secret","top_p":7})");
    EXPECT_EQ(client.read().type, frame_type::error);
  }
  const auto reports = seen->reports();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].id, "tcp-1/9");
  EXPECT_EQ(reports[0].gateway, "tcp");
  EXPECT_EQ(reports[0].model, "test-model");
  EXPECT_NE(reports[0].number, 0U);
  EXPECT_EQ(reports[0].reasons, std::vector{finish_reason::length});
  EXPECT_EQ(reports[1].id, "tcp-1/10");
  EXPECT_EQ(reports[1].failure->param, "top_p");
}

}  // namespace
}  // namespace troupe::net::testing
