// Ports that want a key of their clients.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actors/net/keys_in_force.hpp"
#include "runtime/json/json.hpp"
#include "tests/actors/net/http/http_server_fixture.hpp"
#include "tests/actors/net/tcp/tcp_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

const std::vector<std::string> both = {"key-of-ann-1", "key-of-bob-1"};

std::string authorized(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

struct http_server_with_keys : ::testing::Test {
  http_options options() const {
    http_options made = options_of_test();
    made.keys = keys;
    return made;
  }
  raw_answer get(const std::string& path, const std::string& fields) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    return client.read_answer();
  }
  std::shared_ptr<keys_in_force> keys = std::make_shared<keys_in_force>(key_digest(both));
  scripted_engine engine;
  http_server server = *http_server::start(options(), engine);
  raw_client client{server.port()};
};

TEST_F(http_server_with_keys, serve_whoever_shows_one_of_them) {
  for (const std::string& key : both)
    EXPECT_EQ(client.post("/v1/chat/completions", chat, authorized(key)).status, 200);
  EXPECT_EQ(client.post("/v1/chat/completions", chat, "authorization: bearer  key-of-ann-1\r\n").status, 200);
  EXPECT_EQ(get("/v1/models", authorized(both[0])).status, 200);
}

TEST_F(http_server_with_keys, refuse_all_others_before_their_body_is_read) {
  const std::vector<std::string> strangers = {"",
                                              authorized(""),
                                              authorized("key-of-ann-2"),
                                              authorized("key-of-ann-1 "
                                                         "x"),
                                              "Authorization: Basic key-of-ann-1\r\n",
                                              "Authorization: key-of-ann-1\r\n",
                                              authorized(both[0]) + authorized(both[1])};
  for (const std::string& fields : strangers) {
    raw_client stranger(server.port());
    stranger.send("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n" + fields +
                  "\r\n");
    const raw_answer answer = stranger.read_answer();
    EXPECT_EQ(answer.status, 401) << fields;
    EXPECT_TRUE(answer.headers.at("www-authenticate").starts_with("Bearer"));
    EXPECT_EQ(json::parse(answer.body)["error"]["code"], "invalid_api_key");
    EXPECT_TRUE(stranger.at_end());
    raw_client reader(server.port());
    reader.send("GET /v1/models HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    EXPECT_EQ(reader.read_answer().status, 401) << fields;
    EXPECT_TRUE(reader.at_end()) << "no place is kept for a stranger";
  }
  for (const char* path : {"/v1/responses", "/tokenizer_info", "/v1/requests/a", "/nothing"}) {
    raw_client stranger(server.port());
    EXPECT_EQ(stranger.get(path).status, 401) << path;
  }
  for (const char* path : {"/tokenize", "/reset_prefix_cache", "/health"}) {
    raw_client stranger(server.port());
    EXPECT_EQ(stranger.post(path, "{}").status, path == std::string("/health") ? 405 : 401) << path;
  }
}

TEST_F(http_server_with_keys, tell_anybody_how_the_service_is) {
  for (const char* path : {"/health", "/livez", "/readyz", "/version", "/metrics", "/"})
    EXPECT_EQ(get(path, "").status, 200) << path;
}

TEST_F(http_server_with_keys, follow_those_that_are_in_force) {
  keys->replace(key_digest(std::string_view("key-of-cal-1")));
  EXPECT_EQ(get("/v1/models", authorized("key-of-cal-1")).status, 200);
  EXPECT_EQ(get("/v1/models", authorized("key-of-ann-1")).status, 401);
  keys->replace(key_digest(std::vector<std::string>()));
  EXPECT_EQ(raw_client(server.port()).get("/v1/models").status, 200) << "nobody needs one any more";
}

TEST_F(http_server_with_keys, an_empty_one_opens_nothing) {
  keys->replace(key_digest(std::vector<std::string>{"", "key-of-ann-1"}));
  EXPECT_EQ(get("/v1/models", "").status, 401);
}

TEST_F(http_server_with_keys, routes_without_a_body_read_none_that_is_large) {
  for (const char* framing : {"Content-Length: 65537\r\n", "Transfer-Encoding: chunked\r\n"}) {
    raw_client stranger(server.port());
    stranger.send("GET /health HTTP/1.1\r\nHost: a\r\n" + std::string(framing) + "\r\n");
    if (framing[0] == 'T') stranger.send("10001\r\n" + std::string(65537, 'x') + "\r\n0\r\n\r\n");
    EXPECT_EQ(stranger.read_answer().status, 413) << framing;
  }
  EXPECT_EQ(get("/health", "Content-Length: 0\r\n").status, 200);
}

TEST(http_server_for_few, whoever_has_a_key_takes_the_place_of_a_stranger) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 2;
  options.keys = std::make_shared<keys_in_force>(key_digest(both));
  http_server server = *http_server::start(options, engine);
  const auto ask = [](raw_client& client) {
    client.send("GET /v1/models HTTP/1.1\r\nHost: a\r\n" + authorized(both[0]) + "\r\n");
    return client.read_answer().status;
  };
  raw_client known(server.port());
  EXPECT_EQ(ask(known), 200);
  raw_client stranger(server.port());
  stranger.send("G");
  raw_client another(server.port());
  EXPECT_EQ(ask(another), 200);
  EXPECT_TRUE(stranger.at_end());
  EXPECT_EQ(ask(known), 200) << "it stays";
  known.send("G");
  another.send("G");
  raw_client third(server.port());
  EXPECT_EQ(third.get("/v1/models").status, 503) << "nobody here is a stranger, or idle";
}

TEST(http_server_for_few, a_stranger_that_gives_way_is_told_so) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 2;
  options.keys = std::make_shared<keys_in_force>(key_digest(both));
  http_server server = *http_server::start(options, engine);
  raw_client silent(server.port());
  raw_client slow(server.port());
  slow.send("G");
  std::vector<raw_client> known;
  for (int i = 0; i < 2; ++i) {
    known.emplace_back(server.port());
    known.back().send("GET /v1/models HTTP/1.1\r\nHost: a\r\n" + authorized(both[0]) + "\r\n");
    EXPECT_EQ(known.back().read_answer().status, 200);
  }
  slow.send("ET /v1/models HTTP/1.1\r\nHost: a\r\n" + authorized(both[0]) + "\r\n");
  for (raw_client* gone : {&silent, &slow}) {
    const raw_answer told = gone->read_answer();
    EXPECT_EQ(told.status, 503);
    EXPECT_TRUE(told.headers.contains("retry-after"));
    EXPECT_EQ(told.headers.at("connection"), "close");
    EXPECT_NE(told.body.find("too many connections at the moment"), std::string::npos) << told.body;
    EXPECT_TRUE(gone->at_end());
  }
}

TEST(http_server_for_few, each_of_a_crowd_that_has_a_key_is_answered) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 2;
  options.keys = std::make_shared<keys_in_force>(key_digest(both));
  http_server server = *http_server::start(options, engine);
  std::vector<raw_client> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.emplace_back(server.port());
    crowd.back().send(post_text("/v1/chat/completions", chat, authorized(both[0])));
  }
  int served = 0;
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    const int status = crowd[i].read_answer().status;
    EXPECT_TRUE(status == 200 || status == 503) << i << ": " << status;
    if (status == 200) ++served;
  }
  EXPECT_GT(served, 0);
}

TEST(tcp_server_with_keys, wants_one_in_the_greeting) {
  scripted_engine engine;
  tcp_options options = tcp_options_of_test();
  options.keys = std::make_shared<keys_in_force>(key_digest(both));
  tcp_server server = *tcp_server::start(options, engine);
  const auto first_frame = [&](const std::string& hello) {
    frame_client client(server.port());
    client.send(frame_type::hello, 0, hello);
    return client.read();
  };
  EXPECT_EQ(first_frame(R"({"protocol":1,"api_key":"key-of-bob-1"})").type, frame_type::welcome);
  for (const char* hello : {R"({"protocol":1})", R"({"protocol":1,"api_key":"key-of-bob-2"})"}) {
    const auto refused = first_frame(hello);
    EXPECT_EQ(refused.type, frame_type::error);
    EXPECT_EQ(json::parse(refused.payload)["error"]["code"], "invalid_api_key");
  }
}

TEST(tcp_server_with_keys, whoever_has_one_takes_the_place_of_who_has_not_greeted) {
  scripted_engine engine;
  tcp_options options = tcp_options_of_test();
  options.limits.max_connections = 1;
  options.keys = std::make_shared<keys_in_force>(key_digest(both));
  tcp_server server = *tcp_server::start(options, engine);
  frame_client silent(server.port());
  frame_client known(server.port());
  known.send(frame_type::hello, 0, R"({"protocol":1,"api_key":"key-of-ann-1"})");
  EXPECT_EQ(known.read().type, frame_type::welcome);
  const frame told = silent.read();
  EXPECT_EQ(told.type, frame_type::error);
  EXPECT_EQ(told.request, 0U);
  EXPECT_EQ(told.json()["error"]["message"], "too many connections at the moment");
  EXPECT_TRUE(silent.socket.at_end());
  frame_client third(server.port());
  EXPECT_EQ(third.read().type, frame_type::error) << "nobody here is a stranger";
}

}  // namespace
}  // namespace troupe::net::testing
