// The name that an answer bears in its header, and that its line in the log has.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/net/http/http_message.hpp"
#include "tests/actors/net/http/http_server_fixture.hpp"
#include "tests/actors/net/telemetry/observed_requests_fixture.hpp"

namespace troupe::net::testing {
namespace {

struct http_request_names : ::testing::Test {
  request_report last_report() const {
    while (observed->reports().empty()) std::this_thread::yield();
    return observed->reports().back();
  }
  static bool is_drawn(const std::string& name) { return name.starts_with("req-") && name.size() == 36; }

  std::shared_ptr<observed_requests> observed = std::make_shared<observed_requests>();
  http_options options = [this] {
    http_options out = options_of_test();
    out.observers = {observed};
    return out;
  }();
  scripted_engine engine;
  http_server server = *http_server::start(options, engine);
  raw_client client{server.port()};
};

TEST_F(http_request_names, are_the_clients_own_on_answers_of_every_kind) {
  const std::string name = "X-Request-Id: job-7\r\n";
  EXPECT_EQ(client.post("/v1/chat/completions", chat, name).headers["x-request-id"], "job-7");
  EXPECT_EQ(client.post("/v1/chat/completions", streamed_chat, name).headers["x-request-id"], "job-7");
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":"a"})", name).headers["x-request-id"], "job-7");
  EXPECT_EQ(client.post("/v1/completions", "{", name).headers["x-request-id"], "job-7");
  EXPECT_EQ(client.post("/nowhere", "{}", name).headers["x-request-id"], "job-7");
  EXPECT_EQ(last_report().refusal_id, "job-7");
  EXPECT_EQ(last_report().client_id, "job-7");
}

TEST_F(http_request_names, are_those_of_the_log_where_the_client_gives_none) {
  raw_answer whole = client.post("/v1/chat/completions", chat);
  EXPECT_EQ(whole.headers["x-request-id"], json::parse(whole.body)["id"]);
  EXPECT_EQ(whole.headers["x-request-id"], last_report().id);
  raw_answer streamed = client.post("/v1/chat/completions", streamed_chat);
  EXPECT_EQ(streamed.headers["x-request-id"], json::parse(sse_data(streamed.body).at(0))["id"]);
}

TEST_F(http_request_names, of_who_is_refused_early_are_drawn_and_in_the_log) {
  const std::string first = client.post("/v1/completions", "{").headers["x-request-id"];
  EXPECT_TRUE(is_drawn(first)) << first;
  EXPECT_EQ(last_report().refusal_id, first);
  const std::string second =
      client.post("/v1/completions", R"({"prompt":"a","temperature":-1})").headers["x-request-id"];
  EXPECT_TRUE(is_drawn(second) && second != first) << second;
  while (observed->reports().size() < 2) std::this_thread::yield();
  EXPECT_EQ(last_report().refusal_id, second);
  EXPECT_TRUE(is_drawn(client.get("/nowhere").headers["x-request-id"]));
  raw_client stranger(server.port());
  stranger.send("this is not HTTP\r\n\r\n");
  EXPECT_TRUE(is_drawn(stranger.read_answer().headers["x-request-id"]));
}

// Whatever of a header could be read, or was at least there.
TEST_F(http_request_names, are_the_clients_own_where_the_request_itself_cannot_be_read) {
  const std::string post = "POST /v1/completions HTTP/1.1\r\nHost: a\r\n";
  const std::string name = "x-request-ID: \t job-8 \r\n";
  const std::string long_field = "X-Long: " + std::string(options.max_header_bytes, 'a') + "\r\n";
  const std::vector<std::pair<int, std::string>> requests = {
      {413, post + name + "Content-Length: 999999999999\r\n\r\n"},
      {413, post + "Content-Length: 999999999999\r\n" + name + "\r\n"},
      {400, post + name + "Content-Length: many\r\n\r\n"},
      {400, post + "Content-Length: many\r\n" + name + "\r\n"},
      {400, post + "Content-Length: 2\r\n" + name + "Content-Length: 3\r\n\r\n"},
      {400, post + name + "Transfer-Encoding: gzip\r\n\r\n"},
      {400, "this is not HTTP\r\n" + name + "\r\n"},
      {431, post + name + long_field + "\r\n"},
      {505, "POST / HTTP/2.0\r\n" + name + "\r\n"}};
  for (const auto& [status, text] : requests) {
    raw_client other(server.port());
    other.send(text);
    const raw_answer answer = other.read_answer();
    EXPECT_EQ(answer.status, status) << text.substr(0, 200);
    EXPECT_EQ(answer.headers.at("x-request-id"), "job-8") << text.substr(0, 200);
  }
}

TEST_F(http_request_names, are_the_clients_own_where_the_rest_of_the_header_takes_too_long) {
  options.limits.header_timeout = std::chrono::milliseconds(100);
  http_server hasty = *http_server::start(options, engine);
  raw_client slow(hasty.port());
  slow.send("POST /v1/completions HTTP/1.1\r\nX-Request-Id: job-9\r\nHost:");
  const raw_answer answer = slow.read_answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.headers.at("x-request-id"), "job-9");
}

TEST(request_name, is_looked_for_in_a_header_alone) {
  EXPECT_EQ(request_name_in("GET / HTTP/1.1\r\nX-Request-Id: a\r\n\r\n"), "a");
  EXPECT_EQ(request_name_in("GET / HTTP/1.1\r\nX-Request-Id:a"), "a");
  EXPECT_EQ(request_name_in("GET / HTTP/1.1\r\nX-Request-Id:   \r\n\r\n"), "");
  EXPECT_EQ(request_name_in("GET / HTTP/1.1\r\nHost: a\r\n\r\nX-Request-Id: a\r\n"), "");
  EXPECT_EQ(request_name_in("GET /?X-Request-Id: a HTTP/1.1\r\n"), "");
  EXPECT_EQ(request_name_in(""), "");
  EXPECT_EQ(request_name_in("\n\r"), "");
}

TEST_F(http_request_names, that_are_none_are_not_repeated) {
  for (const std::string& bad :
       {std::string("two words"), std::string(129, 'a'), std::string("a\"b"), std::string("\xC3\xA4")}) {
    const raw_answer answer = client.post("/v1/completions", "{", "X-Request-Id: " + bad + "\r\n");
    EXPECT_TRUE(is_drawn(answer.headers.at("x-request-id"))) << bad;
  }
  EXPECT_EQ(client.post("/v1/completions", "{", "X-Request-Id: " + std::string(128, 'a') + "\r\n")
                .headers["x-request-id"],
            std::string(128, 'a'));
}

}  // namespace
}  // namespace troupe::net::testing
