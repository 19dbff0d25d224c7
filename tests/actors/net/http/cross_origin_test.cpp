// Pages of other origins.
#include "actors/net/http/cross_origin.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actors/net/keys_in_force.hpp"
#include "runtime/json/json.hpp"
#include "tests/actors/net/http/http_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

const std::string a_key = "key-of-ann-1";
const std::string with_key = "Authorization: Bearer " + a_key + "\r\n";

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
    made.keys = std::make_shared<keys_in_force>(key_digest(std::string_view(a_key)));
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
  for (const std::string& fields : {origin + with_key, origin}) {
    const raw_answer answer = ask(few, "GET /v1/models", fields);
    EXPECT_EQ(answer.status, fields == origin ? 401 : 200);
    EXPECT_EQ(answer.headers.at("access-control-allow-origin"), "https://a.example");
    EXPECT_NE(answer.headers.at("access-control-expose-headers").find("X-Request-Id"), std::string::npos);
  }
  raw_client client(few.port());
  const raw_answer streamed = client.post("/v1/chat/completions", streamed_chat, origin + with_key);
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
  EXPECT_EQ(
      post("/v1/chat/completions", foreign + "Content-Type: Application/JSON \t; charset=utf-8\r\n", chat),
      200);
  EXPECT_EQ(post("/v1/chat/completions", foreign + "Content-Type: text/plain ; application/json\r\n", chat),
            403);
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
        const raw_answer answer = ask(*server, line, fields + asks + with_key);
        EXPECT_EQ(answer.status, line[0] == 'G' ? 200 : 405) << fields;
        EXPECT_EQ(answer.headers.contains("vary"), server == &few) << "a cache may have both";
        for (const auto& [name, value] : answer.headers)
          EXPECT_FALSE(name.starts_with("access-control")) << name;
      }
    }
  EXPECT_EQ(ask(few, "OPTIONS /v1/models", "Origin: https://a.example\r\n" + with_key).status, 405)
      << "no preflight";
}

TEST(allowed_origin, is_one_that_is_named_or_all) {
  using list = std::vector<std::string>;
  EXPECT_EQ(allowed_origin("https://a", list{"https://b", "https://a"}), "https://a");
  EXPECT_EQ(allowed_origin("https://a", list{"*"}), "*");
  EXPECT_EQ(allowed_origin("https://a", list{}) + allowed_origin("", list{"*"}), "");
}

TEST(is_own_origin, is_that_of_the_host_of_the_request) {
  EXPECT_TRUE(is_own_origin("http://127.0.0.1:8000", "127.0.0.1:8000"));
  for (const char* other : {"http://127.0.0.1", "http://127.0.0.1:80001", "null", "http://", ""})
    EXPECT_FALSE(is_own_origin(other, "127.0.0.1:8000")) << other;
  EXPECT_FALSE(is_own_origin("http://", ""));
}

}  // namespace
}  // namespace troupe::net::testing
