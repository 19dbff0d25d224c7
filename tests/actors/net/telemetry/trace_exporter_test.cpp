#include "actors/net/telemetry/trace_exporter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "actors/net/sockets/asio.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"

namespace troupe::net::testing {
namespace {

using namespace std::chrono_literals;

// What becomes of spans, by fate.
class fates {
 public:
  span_counter counter() {
    return [this](span_fate fate, std::uint64_t spans) {
      const std::lock_guard lock(mutex_);
      counts_[static_cast<std::size_t>(fate)] += spans;
      changed_.notify_all();
    };
  }
  std::uint64_t of(span_fate fate) const {
    const std::lock_guard lock(mutex_);
    return counts_[static_cast<std::size_t>(fate)];
  }
  void wait_for(span_fate fate, std::uint64_t spans) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counts_[static_cast<std::size_t>(fate)] >= spans; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::uint64_t, 4> counts_{};
};

// Reads one request after another, each on a connection of its own, and answers all the same.
class collector {
 public:
  explicit collector(std::string answer) : answer_(std::move(answer)), thread_([this] { serve(); }) {}
  ~collector() {
    asio_error ignored;
    closing_ = true;
    tcp::socket(context_).connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  collector(const collector&) = delete;
  collector& operator=(const collector&) = delete;

  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }
  // Heads and bodies.
  std::vector<std::pair<std::string, nlohmann::json>> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (true) {
      tcp::socket client(context_);
      acceptor_.accept(client);
      if (closing_) return;
      std::string text;
      read_until(client, text, [&] { return text.find("\r\n\r\n") != std::string::npos; });
      const std::size_t head = text.find("\r\n\r\n") + 4;
      const std::size_t length = std::stoul(text.substr(text.find("Content-Length: ") + 16));
      read_until(client, text, [&] { return text.size() >= head + length; });
      {
        const std::lock_guard lock(mutex_);
        requests_.emplace_back(text.substr(0, head), nlohmann::json::parse(text.substr(head)));
      }
      asio_error ignored;  // whoever has asked may have gone meanwhile
      asio::write(client, asio::buffer(answer_), ignored);
    }
  }
  static void read_until(tcp::socket& client, std::string& text, const std::function<bool()>& done) {
    std::array<char, 4096> part{};
    while (!done()) text.append(part.data(), client.read_some(asio::buffer(part)));
  }

  asio::io_context context_;
  tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0)};
  const std::string answer_;
  std::atomic<bool> closing_ = false;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, nlohmann::json>> requests_;
  std::thread thread_;
};

const std::string taken = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

trace_options options_for(const std::string& port) {
  trace_options options;
  options.host = "127.0.0.1";
  options.port = port;
  options.resource = {"me", "1.0"};
  options.max_delay = 20ms;
  return options;
}

// Of four spans.
request_report traced_report() {
  request_report report;
  report.id = "chatcmpl-1";
  const steady_time now = std::chrono::steady_clock::now();
  report.received = now - 5ms;
  report.times = {now - 4ms, now - 3ms, now - 2ms, now - 1ms};
  report.ended = now;
  return report;
}

TEST(trace_exporter, posts_the_spans_of_requests_together) {
  collector receiver(taken);
  fates seen;
  {
    trace_options options = options_for(receiver.port());
    options.max_delay = 1h;
    trace_exporter exporter(options, seen.counter());
    for (int i = 0; i < 3; ++i) exporter.ended(traced_report());
  }
  EXPECT_EQ(seen.of(span_fate::exported), 12U);
  const auto requests = receiver.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_TRUE(requests[0].first.starts_with("POST /v1/traces HTTP/1.1\r\n")) << requests[0].first;
  EXPECT_NE(requests[0].first.find("Host: 127.0.0.1:" + receiver.port()), std::string::npos);
  EXPECT_NE(requests[0].first.find("Content-Type: application/json\r\n"), std::string::npos);
  const auto& spans = requests[0].second["resourceSpans"][0]["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 12U);
  EXPECT_EQ(spans[0]["traceId"], spans[3]["traceId"]);
  EXPECT_NE(spans[0]["traceId"], spans[4]["traceId"]);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t end = std::stoll(spans[0]["endTimeUnixNano"].get<std::string>());
  EXPECT_LT(std::chrono::abs(std::chrono::nanoseconds(end) - now), 60s) << "unix time";
}

TEST(trace_exporter, sends_a_full_batch_without_delay_and_the_rest_in_further_ones) {
  collector receiver(taken);
  fates seen;
  trace_options options = options_for(receiver.port());
  options.max_delay = 1h;
  options.max_batch_spans = 8;
  trace_exporter exporter(options, seen.counter());
  for (int i = 0; i < 5; ++i) exporter.ended(traced_report());
  seen.wait_for(span_fate::exported, 16);
  exporter.close();
  EXPECT_EQ(seen.of(span_fate::exported), 20U);
  for (const auto& [head, body] : receiver.requests())
    EXPECT_LE(body["resourceSpans"][0]["scopeSpans"][0]["spans"].size(), 8U);
}

TEST(trace_exporter, leaves_out_what_its_sampler_does_not_take) {
  collector receiver(taken);
  fates seen;
  request_report unsampled = traced_report();
  unsampled.caller = read_trace_context("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "");
  request_report sampled = traced_report();
  sampled.caller = read_trace_context("00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=1");
  {
    trace_exporter exporter(options_for(receiver.port()), seen.counter());
    exporter.ended(unsampled);
    exporter.ended(sampled);
  }
  EXPECT_EQ(seen.of(span_fate::exported), 4U);
  const auto requests = receiver.requests();
  ASSERT_EQ(requests.size(), 1U);
  const auto& span = requests[0].second["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(span["traceId"], "1af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(span["parentSpanId"], "b7ad6b7169203331");
  EXPECT_EQ(span["traceState"], "a=1");
}

TEST(trace_exporter, counts_what_a_collector_refuses_whole_or_in_part) {
  const captured_log captured;
  {
    collector receiver("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
    fates seen;
    trace_exporter exporter(options_for(receiver.port()), seen.counter());
    exporter.ended(traced_report());
    seen.wait_for(span_fate::rejected, 4);
    EXPECT_EQ(seen.of(span_fate::exported), 0U);
  }
  const std::string body = R"({"partialSuccess":{"rejectedSpans":"3"}})";
  collector receiver("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  fates seen;
  {
    trace_exporter exporter(options_for(receiver.port()), seen.counter());
    exporter.ended(traced_report());
    seen.wait_for(span_fate::exported, 1);
  }
  EXPECT_EQ(seen.of(span_fate::rejected), 3U);
  EXPECT_EQ(seen.of(span_fate::exported), 1U);
  ASSERT_EQ(captured.lines().size(), 2U);
  EXPECT_NE(captured.lines()[0].find("it answers with status 500"), std::string::npos);
  EXPECT_NE(captured.lines()[1].find("it rejects 3 of 4 spans"), std::string::npos);
}

TEST(trace_exporter, outlives_a_collector_that_answers_nonsense) {
  const captured_log captured;
  const std::string deep(5'000, '[');
  const std::vector<std::pair<std::string, span_fate>> answers{
      {"what is this?\r\n\r\n", span_fate::unreachable},
      {"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n{}", span_fate::unreachable},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n", span_fate::unreachable},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + deep, span_fate::exported}};
  for (const auto& [answer, fate] : answers) {
    collector receiver(answer);
    fates seen;
    trace_exporter exporter(options_for(receiver.port()), seen.counter());
    exporter.ended(traced_report());
    seen.wait_for(fate, 4);
    exporter.ended(traced_report());
    seen.wait_for(fate, 8);
    EXPECT_EQ(receiver.requests().size(), 2U) << "the next batch is sent like any other";
  }
}

TEST(trace_exporter, gives_a_collector_up_that_is_not_there_and_complains_once) {
  const captured_log captured;
  std::string port;
  { port = collector(taken).port(); }
  fates seen;
  {
    trace_exporter exporter(options_for(port), seen.counter());
    exporter.ended(traced_report());
    seen.wait_for(span_fate::unreachable, 4);
    exporter.ended(traced_report());
    seen.wait_for(span_fate::unreachable, 8);
  }
  ASSERT_EQ(captured.lines().size(), 1U);
  EXPECT_TRUE(captured.lines()[0].starts_with("warning traces are lost: the collector at 127.0.0.1:"));
}

TEST(trace_exporter, names_a_collector_as_its_url_does) {
  const captured_log captured;
  fates seen;
  {
    trace_options options = options_for("1");
    options.host = "::1";
    trace_exporter exporter(options, seen.counter());
    exporter.ended(traced_report());
    seen.wait_for(span_fate::unreachable, 4);
  }
  ASSERT_EQ(captured.lines().size(), 1U);
  EXPECT_TRUE(
      captured.lines()[0].starts_with("warning traces are lost: the collector at [::1]:1/v1/traces: "))
      << captured.lines()[0];
}

// Its backlog takes connections, and nobody ever answers.
class silent_collector {
 public:
  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }

 private:
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0)};
};

TEST(trace_exporter, gives_up_on_a_batch_that_is_not_answered_in_time) {
  const captured_log captured;
  silent_collector silent;
  fates seen;
  trace_options options = options_for(silent.port());
  options.timeout = 50ms;
  trace_exporter exporter(options, seen.counter());
  exporter.ended(traced_report());
  seen.wait_for(span_fate::unreachable, 4);
  exporter.close();
  EXPECT_NE(captured.lines().at(0).find("it does not answer in time"), std::string::npos);
}

TEST(trace_exporter, drops_what_finds_too_many_waiting_and_holds_nobody_up) {
  const captured_log captured;
  silent_collector silent;
  fates seen;
  trace_options options = options_for(silent.port());
  options.timeout = 1h;
  options.last_timeout = 50ms;
  options.max_waiting_spans = 40;
  options.max_batch_spans = 8;
  {
    trace_exporter exporter(options, seen.counter());
    for (int i = 0; i < 1'000; ++i) exporter.ended(traced_report());
    EXPECT_GE(seen.of(span_fate::queue_full), 4'000U - 40U - 8U);
  }
  EXPECT_EQ(seen.of(span_fate::queue_full) + seen.of(span_fate::unreachable), 4'000U)
      << "every span is told of";
  EXPECT_EQ(seen.of(span_fate::exported), 0U);
}

}  // namespace
}  // namespace troupe::net::testing
