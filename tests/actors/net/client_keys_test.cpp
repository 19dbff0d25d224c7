// Ports that want a key of their clients, and pages of other origins.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "actors/net/cross_origin.hpp"
#include "actors/net/keys_in_force.hpp"
#include "tests/actors/net/http_server_fixture.hpp"
#include "tests/actors/net/tcp_server_fixture.hpp"

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
  raw_client third(server.port());
  EXPECT_EQ(third.get("/v1/models").status, 503) << "nobody here is a stranger";
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

TEST(key_digest, of_several_knows_each_and_no_other) {
  const key_digest digest(both);
  EXPECT_EQ(digest.size(), 2U);
  for (const std::string& key : both) EXPECT_TRUE(digest.matches(key));
  EXPECT_FALSE(digest.matches("key-of-cal-1") || digest.matches(""));
  using list = std::vector<std::string>;
  EXPECT_TRUE(digest.are(list{both[1], both[0], both[0]}));
  EXPECT_FALSE(digest.are(list{both[0]}) || digest.are(list{}) || digest.are(list{both[0], "key-of-cal-1"}));
  EXPECT_TRUE(key_digest(list{}).are(list{}) && !key_digest(list{}).matches(""));
}

TEST(read_origins, takes_origins_and_names_what_is_none) {
  using list = std::vector<std::string>;
  EXPECT_EQ(*read_origins(""), list{});
  EXPECT_EQ(*read_origins("*"), list{"*"});
  EXPECT_EQ(*read_origins("https://a.example, http://localhost:3000,null,app://x"),
            (list{"https://a.example", "http://localhost:3000", "null", "app://x"}));
  EXPECT_EQ(*read_origins("HTTPS://A.example:443,http://b:80,http://[::1]:81,https://c:80"),
            (list{"https://a.example", "http://b", "http://[::1]:81", "https://c:80"}));
  for (const char* wrong : {"a.example", "https://", "https://a.example/", "https://*.example",
                            "*,https://a.example", "https://a b", "://a", ",", "https://a?x", "https://a:b",
                            "https://a:", "https://:80", "https://a:123456"})
    EXPECT_FALSE(read_origins(wrong).has_value()) << wrong;
  EXPECT_NE(read_origins("https://a.example,b").error().message.find("'b'"), std::string::npos);
}

struct http_server_for_pages : ::testing::Test {
  static http_options options(std::vector<std::string> origins) {
    http_options made = options_of_test();
    made.cors_origins = std::move(origins);
    made.keys = std::make_shared<keys_in_force>(key_digest(both));
    return made;
  }
  raw_answer ask(http_server& server, const std::string& line, const std::string& fields) {
    raw_client client(server.port());
    client.send(line + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    return client.read_answer();
  }
  scripted_engine engine;
  http_server few = *http_server::start(options({"https://a.example", "null"}), engine);
  http_server all = *http_server::start(options({"*"}), engine);
  http_server none = *http_server::start(options({}), engine);
};

constexpr const char* asks =
    "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization,content-type\r\n";

TEST_F(http_server_for_pages, lets_browsers_ask_for_those_that_are_allowed) {
  const std::string origin = "Origin: https://a.example\r\n";
  const raw_answer allowed = ask(few, "OPTIONS /v1/chat/completions", origin + asks);
  EXPECT_EQ(allowed.status, 200);
  EXPECT_EQ(allowed.body, "");
  EXPECT_EQ(allowed.headers.at("access-control-allow-origin"), "https://a.example");
  EXPECT_EQ(allowed.headers.at("access-control-allow-headers"), "authorization,content-type");
  EXPECT_NE(allowed.headers.at("access-control-allow-methods").find("POST"), std::string::npos);
  EXPECT_EQ(allowed.headers.at("vary"), "Origin");
  EXPECT_EQ(ask(few, "OPTIONS /v1/models", "Origin: null\r\n" + std::string(asks)).status, 200);
  const raw_answer anybody =
      ask(all, "OPTIONS /v1/models", "Origin: https://b.example\r\n" + std::string(asks));
  EXPECT_EQ(anybody.headers.at("access-control-allow-origin"), "*");
  EXPECT_FALSE(anybody.headers.contains("vary"));
}

TEST_F(http_server_for_pages, answers_are_for_their_pages_and_errors_too) {
  const std::string origin = "Origin: https://a.example\r\n";
  for (const std::string& fields : {origin + authorized(both[0]), origin}) {
    const raw_answer answer = ask(few, "GET /v1/models", fields);
    EXPECT_EQ(answer.status, fields == origin ? 401 : 200);
    EXPECT_EQ(answer.headers.at("access-control-allow-origin"), "https://a.example");
    EXPECT_NE(answer.headers.at("access-control-expose-headers").find("X-Request-Id"), std::string::npos);
  }
  raw_client client(few.port());
  const raw_answer streamed =
      client.post("/v1/chat/completions", streamed_chat, origin + authorized(both[0]));
  EXPECT_EQ(streamed.headers.at("access-control-allow-origin"), "https://a.example");
}

TEST_F(http_server_for_pages, what_a_browser_sends_without_asking_is_taken_from_no_other_page) {
  const std::string foreign = "Origin: https://b.example\r\n";
  http_options open = options_of_test();
  http_server server = *http_server::start(open, engine);
  const auto post = [&](const std::string& path, const std::string& fields, const std::string& body) {
    raw_client client(server.port());
    client.send("POST " + path + " HTTP/1.1\r\nHost: here:1\r\n" + fields +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read_answer().status;
  };
  const std::string json_type = "Content-Type: application/json; charset=utf-8\r\n";
  EXPECT_EQ(post("/v1/chat/completions", foreign, chat), 403);
  EXPECT_EQ(post("/reset_prefix_cache", foreign, ""), 403);
  EXPECT_EQ(post("/v1/chat/completions", foreign + json_type, chat), 200)
      << "a browser has asked, or it is none";
  for (const char* own : {"", "Origin: http://here:1\r\n"})
    EXPECT_EQ(post("/v1/chat/completions", own, chat), 200) << own;
  EXPECT_EQ(ask(few, "GET /health", foreign).status, 200);
}

TEST_F(http_server_for_pages, errors_of_requests_that_cannot_be_read_are_for_pages_too) {
  raw_client client(few.port());
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\nContent-Length: "
      "100000000\r\n\r\n");
  const raw_answer answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.headers.at("access-control-allow-origin"), "https://a.example");
}

TEST_F(http_server_for_pages, nobody_else_is_allowed_anything) {
  for (http_server* server : {&few, &none})
    for (const char* origin : {"https://b.example", "https://a.example.evil", "http://a.example", "*", ""}) {
      const std::string fields = std::string("Origin: ") + origin + "\r\n";
      for (const char* line : {"OPTIONS /v1/models", "GET /health"}) {
        const raw_answer answer = ask(*server, line, fields + asks + authorized(both[0]));
        EXPECT_EQ(answer.status, line[0] == 'G' ? 200 : 405) << fields;
        EXPECT_EQ(answer.headers.contains("vary"), server == &few) << "a cache may have both";
        for (const auto& [name, value] : answer.headers)
          EXPECT_FALSE(name.starts_with("access-control")) << name;
      }
    }
  EXPECT_EQ(ask(few, "OPTIONS /v1/models", "Origin: https://a.example\r\n" + authorized(both[0])).status, 405)
      << "no preflight";
}

}  // namespace
}  // namespace troupe::net::testing
