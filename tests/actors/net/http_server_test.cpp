#include "actors/net/http_server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {
namespace {

using nlohmann::json;
using pace = scripted_engine::pace;

const std::string chat = R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3})";
const std::string streamed_chat =
    R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3,"stream":true})";

http_options options_of_test() {
  http_options options;
  options.version = "1.2.3";
  options.limits.max_body_bytes = 1U << 20U;
  return options;
}

struct http_server_test : ::testing::Test {
  scripted_engine engine;
  http_server server = *http_server::start(options_of_test(), engine);
  raw_client client{server.port()};
};

struct http_server_by_hand : ::testing::Test {
  scripted_engine engine{pace::by_hand};
  http_server server = *http_server::start(options_of_test(), engine);
  raw_client client{server.port()};
};

std::string streamed_text(const std::string& body) {
  std::string text;
  for (const std::string& data : sse_data(body)) {
    if (data == "[DONE]" || data.starts_with(':')) continue;
    const json chunk = json::parse(data);
    if (chunk.contains("choices") && !chunk["choices"].empty())
      text += chunk["choices"][0]["delta"]["content"];
  }
  return text;
}

TEST_F(http_server_test, answers_a_whole_chat_in_openai_s_shape) {
  const auto answer = client.post("/v1/chat/completions", chat);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  const json body = json::parse(answer.body);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "test-model");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "word word word ");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["total_tokens"], 6);
}

TEST_F(http_server_test, streams_a_chat_as_server_sent_events) {
  const auto answer = client.post("/v1/chat/completions", streamed_chat);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.headers.at("content-type").starts_with("text/event-stream"));
  EXPECT_EQ(answer.headers.at("cache-control"), "no-cache");
  EXPECT_EQ(streamed_text(answer.body), "word word word ");
  EXPECT_EQ(sse_data(answer.body).back(), "[DONE]");
  EXPECT_EQ(client.get("/livez").status, 200) << "the connection must go on after a stream";
}

TEST_F(http_server_test, completes_token_ids) {
  const auto answer =
      client.post("/v1/completions", R"({"prompt":[1,2,3],"max_tokens":2,"return_token_ids":true})");
  const json body = json::parse(answer.body);
  EXPECT_EQ(body["choices"][0]["text"], "word word ");
  EXPECT_EQ(body["choices"][0]["token_ids"].size(), 2U);
  EXPECT_EQ(body["choices"][0]["prompt_token_ids"], json::parse("[5,6,7]"));
}

TEST_F(http_server_test, serves_every_route_that_is_read) {
  EXPECT_EQ(json::parse(client.get("/v1/models").body)["data"][0]["id"], "test-model");
  EXPECT_EQ(json::parse(client.get("/v1/models/test-model").body)["max_model_len"], 512);
  EXPECT_EQ(client.get("/v1/models/other").status, 404);
  EXPECT_EQ(client.get("/v1/models/test%2Dmodel?x=1").status, 200);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.get("/livez").status, 200);
  EXPECT_EQ(client.get("/readyz").status, 200);
  EXPECT_EQ(json::parse(client.get("/version").body)["version"], "1.2.3");
  const auto metrics = client.get("/metrics");
  EXPECT_TRUE(metrics.headers.at("content-type").starts_with("text/plain; version=0.0.4"));
  EXPECT_EQ(metrics.body, "troupe_info 1\n");
}

TEST_F(http_server_test, head_answers_as_get_without_a_body) {
  const auto answer = client.get("/v1/models", "HEAD");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.headers.at("content-length"), "0");
  EXPECT_EQ(client.get("/version").status, 200) << "nothing of a body may follow a HEAD";
}

TEST_F(http_server_test, unknown_routes_and_methods_are_json_errors) {
  EXPECT_EQ(client.get("/nothing").status, 404);
  EXPECT_EQ(client.get("/v1/models/").status, 404);
  EXPECT_EQ(json::parse(client.get("/nothing").body)["error"]["code"], "not_found");
  const auto wrong = client.get("/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST");
  EXPECT_EQ(client.get("/health", "DELETE").headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(client.get("/health", "INVENTED").status, 405);
  EXPECT_EQ(client.post("/health", "{}").status, 405);
}

TEST_F(http_server_test, a_refused_route_tells_what_was_asked_for_and_what_there_is) {
  const auto message = [](const raw_answer& answer) {
    return json::parse(answer.body)["error"]["message"].get<std::string>();
  };
  const std::string unknown = message(client.get("/v1/chat/completion%22s"));
  for (const char* words : {"GET /v1/chat/completion\"s", "POST /v1/chat/completions, /v1/completions",
                            "/tokenize", "GET /v1/models, /health", "/metrics", "/v1/requests/{id}"})
    EXPECT_NE(unknown.find(words), std::string::npos) << unknown;
  EXPECT_LT(message(client.get("/" + std::string(5000, 'x'))).size(), 600U);
  EXPECT_EQ(message(client.get("/v1/completions", "DELETE")), "/v1/completions takes only POST, not DELETE");
  EXPECT_EQ(message(client.get("/health", "DELETE")), "/health takes only GET, not DELETE");
}

TEST_F(http_server_test, has_a_page_for_people_that_may_ask_only_this_server) {
  const raw_answer page = client.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_NE(page.headers.at("content-security-policy").find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.body.find("</html>"), std::string::npos);
  EXPECT_EQ(client.get("/", "DELETE").status, 405);
}

TEST_F(http_server_test, tokenizes_and_detokenizes) {
  const json tokens =
      json::parse(client.post("/tokenize", R"({"prompt":"abc","return_token_strs":true})").body);
  EXPECT_EQ(tokens["count"], 3);
  EXPECT_EQ(tokens["max_model_len"], 512);
  EXPECT_EQ(tokens["token_strs"].size(), 3U);
  EXPECT_EQ(json::parse(client.post("/detokenize", R"({"tokens":[1,2]})").body)["prompt"], "yy");
  EXPECT_EQ(client.post("/detokenize", R"({"tokens":[1000]})").status, 400);
}

TEST_F(http_server_test, bad_bodies_are_refused_and_the_connection_goes_on) {
  for (const char* body :
       {"", "{", "[]", "null", "\xFF\xFE", R"({"messages":[]})", R"({"messages":"x"})",
        R"({"messages":[{"role":"user","content":"x"}],"temperature":NaN})",
        R"({"messages":[{"role":"user","content":"x"}],"temperature":1e999})",
        R"({"messages":[{"role":"user","content":"x"}],"max_tokens":9223372036854775808})"}) {
    const auto answer = client.post("/v1/chat/completions", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_FALSE(json::parse(answer.body)["error"]["message"].get<std::string>().empty());
  }
  const auto unknown =
      client.post("/v1/chat/completions", R"({"model":"x","messages":[{"role":"user","content":"x"}]})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(json::parse(unknown.body)["error"]["code"], "model_not_found");
  EXPECT_EQ(client.post("/v1/chat/completions", chat).status, 200);
}

TEST_F(http_server_test, takes_json_only) {
  const std::string head = "POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\n";
  raw_client other(server.port());
  other.send(head + "Content-Type: text/plain\r\n\r\n{}");
  EXPECT_EQ(other.read_answer().status, 415);
  EXPECT_TRUE(other.at_end());
  EXPECT_EQ(client.post("/tokenize", "{}", "Content-Encoding: gzip\r\n").status, 415);
}

TEST_F(http_server_test, a_body_may_come_in_chunks) {
  client.send(
      "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\n{\"pro\r\nc\r\nmpt\":\"abcd\"}\r\n0\r\n\r\n");
  EXPECT_EQ(json::parse(client.read_answer().body)["count"], 4);
}

TEST_F(http_server_test, a_request_may_be_cut_anywhere) {
  const std::string text = post_text("/tokenize", R"({"prompt":"abc"})");
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    client.send(text.substr(0, cut));
    std::this_thread::yield();
    client.send(text.substr(cut));
    const auto answer = client.read_answer();
    ASSERT_EQ(answer.status, 200) << cut;
    ASSERT_EQ(json::parse(answer.body)["count"], 3);
  }
}

TEST_F(http_server_test, pipelined_requests_are_answered_in_order) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    const std::string prompt(static_cast<std::size_t>(i), 'a');
    text += post_text("/tokenize", R"({"prompt":")" + prompt + "\"}");
    text += i % 2 == 0 ? post_text("/v1/chat/completions", chat)
                       : post_text("/v1/chat/completions", streamed_chat);
  }
  client.send(text);
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(json::parse(client.read_answer().body)["count"], i);
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    if (i % 2 == 1) {
      EXPECT_EQ(streamed_text(answer.body), "word word word ");
    }
  }
}

TEST_F(http_server_test, several_answers_come_by_their_index_whole_and_streamed) {
  const auto whole = client.post("/v1/chat/completions",
                                 R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3,"n":3})");
  ASSERT_EQ(whole.status, 200);
  const json body = json::parse(whole.body);
  ASSERT_EQ(body["choices"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["message"]["content"], "word word word ");
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 9);
  const auto streamed = client.post(
      "/v1/completions",
      R"({"prompt":"hi","max_tokens":2,"n":4,"stream":true,"stream_options":{"include_usage":true}})");
  std::map<int, std::string> texts;
  for (const std::string& data : sse_data(streamed.body)) {
    if (data == "[DONE]") continue;
    const json chunk = json::parse(data);
    for (const json& choice : chunk["choices"])
      texts[choice["index"].get<int>()] += choice["text"].get<std::string>();
    if (chunk["choices"].empty()) {
      EXPECT_EQ(chunk["usage"]["completion_tokens"], 8);
    }
  }
  ASSERT_EQ(texts.size(), 4U);
  for (const auto& [index, text] : texts) EXPECT_EQ(text, "word word ") << index;
  EXPECT_EQ(sse_data(streamed.body).back(), "[DONE]");
  EXPECT_EQ(engine.aborts(), 0U);
}

TEST_F(http_server_test, the_prefix_cache_can_be_reset) {
  EXPECT_EQ(client.post("/reset_prefix_cache", "").status, 200);
  client.send("POST /reset_prefix_cache HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(client.get("/reset_prefix_cache").status, 405);
  client.post("/v1/chat/completions", chat);
  const auto refused = client.post("/reset_prefix_cache", "");
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
}

TEST_F(http_server_test, the_tenant_is_the_proxys_or_else_the_users) {
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":1,"user":"u",)"
                           R"("priority":5,"cache_salt":"s"})";
  client.post("/v1/chat/completions", body);
  client.post("/v1/chat/completions", body, "X-Tenant: acme\r\n");
  EXPECT_EQ(engine.request_of(1)->user, "u");
  EXPECT_EQ(engine.request_of(1)->priority, 5);
  EXPECT_EQ(engine.request_of(1)->cache_salt, "s");
  EXPECT_EQ(engine.request_of(2)->user, "acme");
  EXPECT_EQ(client.post("/v1/chat/completions", body, "X-Tenant: " + std::string(1024, 't') + "\r\n").status,
            200);
  const auto refused =
      client.post("/v1/chat/completions", body, "X-Tenant: " + std::string(1025, 't') + "\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"]["param"], "X-Tenant");
  EXPECT_EQ(json::parse(refused.body)["error"]["message"], "X-Tenant is longer than 1024 bytes");
}

TEST_F(http_server_test, http_1_0_gets_a_plain_stream_and_a_close) {
  client.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " +
              std::to_string(streamed_chat.size()) + "\r\n\r\n" + streamed_chat);
  const auto answer = client.read_answer();
  EXPECT_FALSE(answer.headers.contains("transfer-encoding"));
  EXPECT_EQ(streamed_text(answer.body), "word word word ");
  EXPECT_TRUE(client.at_end());
  raw_client kept(server.port());
  kept.send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.read_answer().headers.at("connection"), "keep-alive");
  EXPECT_EQ(kept.get("/livez").status, 200);
}

TEST_F(http_server_test, continues_when_expected_to) {
  const std::string body = R"({"prompt":"abc"})";
  const std::string text = post_text("/tokenize", body, "Expect: 100-continue\r\n");
  client.send(text.substr(0, text.size() - body.size()));
  EXPECT_EQ(client.read_answer().status, 100);
  client.send(body);
  EXPECT_EQ(json::parse(client.read_answer().body)["count"], 3);
  raw_client large(server.port());
  large.send("POST /tokenize HTTP/1.1\r\nContent-Length: 100000000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(large.read_answer().status, 413);
  EXPECT_EQ(client.post("/tokenize", body, "Expect: a-miracle\r\n").status, 417);
}

TEST_F(http_server_test, a_body_of_100_megabytes_is_refused_and_the_client_reads_why) {
  client.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n");
  const std::string block(1U << 20U, ' ');
  for (int i = 0; i < 96; ++i) client.send(block);
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(json::parse(answer.body)["error"]["code"], "too_large");
}

TEST_F(http_server_test, a_chunked_body_is_cut_at_the_limit) {
  client.send("POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'a') + "\r\n";
  for (int i = 0; i < 64 && client.send(chunk); ++i) {
  }
  EXPECT_EQ(client.read_answer().status, 413);
}

TEST_F(http_server_test, a_header_of_a_megabyte_is_refused) {
  client.send("GET /livez HTTP/1.1\r\nX-Large: " + std::string(1U << 20U, 'a') + "\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 431);
  EXPECT_EQ(json::parse(answer.body)["error"]["code"], "header_too_large");
  EXPECT_TRUE(client.at_end());
}

TEST_F(http_server_test, what_is_not_http_is_refused_and_closed) {
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11), std::string(100, '\0'),
        std::string("hello\r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("POST /tokenize HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST /tokenize HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        std::string("POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        std::string("POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        std::string("POST /tokenize twice HTTP/1.1\r\n\r\n"), std::string("GET / garbage\r\n\r\n"),
        std::string("GET /livez HTTP/1.1\n\n")}) {
    raw_client other(server.port());
    other.send(bytes);
    const auto answer = other.read_answer();
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_TRUE(other.at_end());
  }
  raw_client newer(server.port());
  newer.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(newer.read_answer().status, 505);
}

TEST_F(http_server_test, a_body_whose_end_is_not_known_is_no_second_request) {
  for (const std::string coding : {"identity", "gzip", "gzip, chunked", "chunked, gzip", "chunkedx"}) {
    raw_client other(server.port());
    other.send("POST /tokenize HTTP/1.1\r\nTransfer-Encoding: " + coding +
               "\r\n\r\nGET /version HTTP/1.1\r\n\r\n");
    const auto answer = other.read_answer();
    EXPECT_EQ(answer.status, 400) << coding;
    EXPECT_TRUE(other.at_end()) << coding;
  }
}

TEST_F(http_server_test, random_bytes_harm_nobody) {
  std::mt19937 random(17);
  const std::string valid = post_text("/v1/chat/completions", streamed_chat);
  for (int i = 0; i < 100; ++i) {
    std::string bytes = valid;
    for (auto edits = 1 + random() % 6; edits > 0; --edits) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    raw_client other(server.port());
    other.send(bytes);
    other.finish_sending();
    other.read_to_end();
  }
  EXPECT_EQ(client.post("/v1/chat/completions", chat).status, 200);
  engine.wait_until_idle();
}

TEST_F(http_server_test, an_engine_that_serves_with_less_is_ready_and_says_why) {
  engine.set_status({.ready = true, .degraded = "the device is lost"});
  const auto answer = client.get("/readyz");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"status":"ok","degraded":"the device is lost"})");
  EXPECT_EQ(client.get("/livez").body, R"({"status":"ok"})");
}

TEST_F(http_server_test, an_engine_that_is_not_ready_is_told_as_503) {
  engine.set_status({true, false, "warming up [3/8]"});
  for (const char* path : {"/health", "/readyz"}) {
    const auto answer = client.get(path);
    EXPECT_EQ(answer.status, 503);
    EXPECT_NE(answer.body.find("warming up [3/8]"), std::string::npos);
  }
  EXPECT_EQ(client.get("/livez").status, 200);
  const auto refused = client.post("/v1/chat/completions", chat);
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  engine.set_status({true, false, "the model runner is being replaced", true});
  EXPECT_EQ(client.get("/readyz").status, 503) << "others are to be asked meanwhile";
  EXPECT_EQ(client.post("/v1/chat/completions", chat).status, 200) << "who is here waits";
  engine.set_status({false, true, "the step is stuck"});
  EXPECT_EQ(client.get("/livez").status, 503);
  EXPECT_EQ(client.get("/health").status, 503);
}

TEST_F(http_server_test, many_streams_at_once_are_each_complete) {
  std::vector<std::future<void>> clients;
  for (int i = 1; i <= 32; ++i) {
    clients.push_back(std::async(std::launch::async, [this, i] {
      raw_client own(server.port());
      const json body = {{"messages", json::array({{{"role", "user"}, {"content", "x"}}})},
                         {"max_tokens", i},
                         {"stream", i % 2 == 0}};
      const auto answer = own.post("/v1/chat/completions", body.dump());
      const std::string text =
          i % 2 == 0 ? streamed_text(answer.body)
                     : json::parse(answer.body)["choices"][0]["message"]["content"].get<std::string>();
      EXPECT_EQ(text.size(), 5U * static_cast<unsigned>(i));
    }));
  }
  for (auto& each : clients) each.get();
  EXPECT_EQ(engine.aborts(), 0U);
}

TEST_F(http_server_by_hand, a_refusal_before_the_first_token_has_its_own_status) {
  const std::vector<std::pair<error_code, int>> refusals = {{error_code::invalid_argument, 400},
                                                            {error_code::resource_exhausted, 429},
                                                            {error_code::unavailable, 503},
                                                            {error_code::internal, 500}};
  std::size_t request = 0;
  for (const auto& [code, status] : refusals) {
    for (const std::string& body : {chat, streamed_chat}) {
      client.send(post_text("/v1/chat/completions", body));
      engine.emit(engine.wait_for_request(++request), failed({code, "because", "prompt"}));
      const auto answer = client.read_answer();
      EXPECT_EQ(answer.status, status);
      EXPECT_EQ(answer.headers.contains("retry-after"), status == 429 || status == 503);
      EXPECT_EQ(json::parse(answer.body)["error"]["message"], "because");
    }
  }
}

TEST_F(http_server_by_hand, a_refusal_tells_when_to_try_again) {
  client.send(post_text("/v1/chat/completions", chat));
  engine.emit(engine.wait_for_request(1), failed({error_code::resource_exhausted, "full", {}, 7}));
  EXPECT_EQ(client.read_answer().headers.at("retry-after"), "7");
}

TEST_F(http_server_by_hand, a_request_is_found_by_the_name_that_its_client_sees) {
  raw_client asker(server.port());
  client.send(post_text("/v1/chat/completions", chat, "X-Request-Id: job-1\r\n"));
  const auto id = engine.wait_for_request(1);
  const auto known = asker.get("/v1/requests/chatcmpl-job-1");
  ASSERT_EQ(known.status, 200);
  const json state = json::parse(known.body);
  EXPECT_EQ(state["id"], "chatcmpl-job-1");
  EXPECT_EQ(state["state"], "running");
  EXPECT_EQ(state["choices"][0]["reason"], "running");
  EXPECT_EQ(asker.get("/v1/requests/chatcmpl-job-2").status, 404);
  EXPECT_EQ(asker.get("/v1/requests/job-1").status, 404);
  EXPECT_EQ(asker.get("/v1/requests/").status, 404);
  raw_client poster(server.port());
  EXPECT_EQ(poster.post("/v1/requests/chatcmpl-job-1", "{}").status, 405);
  raw_client other(server.port());
  const auto twice = other.post("/v1/chat/completions",
                                R"({"messages":[{"role":"user","content":"hi"}],"request_id":"job-1"})");
  EXPECT_EQ(twice.status, 400) << "the name is taken";
  engine.emit(id, last_piece());
  EXPECT_EQ(json::parse(client.read_answer().body)["id"], "chatcmpl-job-1");
  const auto gone = asker.get("/v1/requests/chatcmpl-job-1");
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(json::parse(gone.body)["error"]["code"], "not_found");
}

TEST_F(http_server_by_hand, a_streams_name_is_the_one_in_its_chunks) {
  raw_client asker(server.port());
  client.send(post_text("/v1/completions", R"({"prompt":"x","n":2,"stream":true})"));
  engine.wait_for_request(2);
  engine.emit(1, piece("first"));
  std::string seen;
  while (seen.find("\n\n") == std::string::npos) seen += client.read_exactly(1);
  const std::string name = json::parse(sse_data(seen.substr(seen.find("data: ")))[0])["id"];
  engine.emit(2, last_piece());
  json state;
  while (state.is_null() || state["choices"][1]["state"] != "finished")
    state = json::parse(asker.get("/v1/requests/" + name).body);
  EXPECT_EQ(state["state"], "running");
  EXPECT_EQ(state["choices"].size(), 2U);
  EXPECT_EQ(state["choices"][1]["prompt_tokens"], last_piece().end->tokens.prompt_tokens);
  EXPECT_GT(state["choices"][1]["prompt_tokens"], 0);
}

TEST_F(http_server_by_hand, one_answer_that_is_refused_refuses_the_request_and_aborts_the_others) {
  for (const bool streams : {false, true}) {
    const json body = {{"prompt", "x"}, {"n", 3}, {"stream", streams}};
    const auto before = engine.requests();
    client.send(post_text("/v1/completions", body.dump()));
    engine.wait_for_request(before + 3);
    engine.emit(before + 2, failed({error_code::resource_exhausted, "full"}));
    EXPECT_EQ(client.read_answer().status, 429);
    engine.wait_for_abort(before + 1);
    engine.wait_for_abort(before + 3);
  }
}

TEST_F(http_server_by_hand, a_client_that_leaves_aborts_all_of_its_answers) {
  raw_client leaver(server.port());
  leaver.send(post_text("/v1/completions", R"({"prompt":"x","n":3})"));
  engine.wait_for_request(3);
  leaver.close();
  for (const request_id id : {1, 2, 3}) engine.wait_for_abort(id);
  EXPECT_EQ(engine.running(), 0U);
}

TEST_F(http_server_by_hand, a_failure_on_the_way_is_told_in_the_stream) {
  client.send(post_text("/v1/chat/completions", streamed_chat));
  const auto id = engine.wait_for_request(1);
  engine.emit(id, piece("one"));
  engine.emit(id, failed({error_code::internal, "a fault"}));
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 200);
  const auto events = sse_data(answer.body);
  EXPECT_EQ(json::parse(events[events.size() - 2])["error"]["message"], "a fault");
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(http_server_by_hand, each_piece_is_sent_when_it_comes) {
  client.send(post_text("/v1/chat/completions", streamed_chat));
  const auto id = engine.wait_for_request(1);
  std::string seen;
  for (const std::string text : {"one", "two", "three"}) {
    engine.emit(id, piece(text));
    while (seen.find(text) == std::string::npos) {
      const std::string more = client.read_exactly(1);
      ASSERT_FALSE(more.empty());
      seen += more;
    }
  }
}

TEST_F(http_server_by_hand, every_reason_to_end_reaches_the_client) {
  std::size_t request = 0;
  for (const auto reason :
       {finish_reason::stop, finish_reason::length, finish_reason::abort, finish_reason::timeout}) {
    client.send(post_text("/v1/chat/completions", chat));
    engine.emit(engine.wait_for_request(++request), last_piece(reason, "x"));
    const auto answer = client.read_answer();
    EXPECT_EQ(json::parse(answer.body)["choices"][0]["finish_reason"], to_string(reason));
  }
}

TEST_F(http_server_by_hand, a_client_that_leaves_is_aborted_while_streaming_and_while_waiting) {
  std::size_t request = 0;
  for (const std::string& body : {chat, streamed_chat}) {
    for (const bool begun : {false, true}) {
      for (const int how : {0, 1, 2}) {
        raw_client leaver(server.port());
        leaver.send(post_text("/v1/chat/completions", body));
        const auto id = engine.wait_for_request(++request);
        if (begun) engine.emit(id, piece("x"));
        if (how == 0) leaver.close();
        if (how == 1) leaver.reset();
        if (how == 2) {
          leaver.finish_sending();
          leaver.close();
        }
        engine.wait_for_abort(id);
      }
    }
  }
  EXPECT_EQ(engine.running(), 0U);
}

TEST_F(http_server_by_hand, a_client_that_leaves_with_nothing_left_to_read_is_aborted_before_the_next_token) {
  raw_client leaver(server.port());
  leaver.send(post_text("/v1/chat/completions", streamed_chat));
  const auto id = engine.wait_for_request(1);
  engine.emit(id, piece("the whole of it"));
  std::string seen;
  while (!seen.ends_with("\n\n\r\n") || seen.find("the whole of it") == std::string::npos) {
    const std::string more = leaver.read_exactly(1);
    ASSERT_FALSE(more.empty());
    seen += more;
  }
  leaver.close();
  engine.wait_for_abort(id);
}

TEST_F(http_server_by_hand, a_client_that_only_ends_its_sending_side_is_answered) {
  std::size_t request = 0;
  for (const std::string& body : {chat, streamed_chat}) {
    for (const bool begun : {false, true}) {
      raw_client half_closed(server.port());
      half_closed.send(post_text("/v1/chat/completions", body));
      half_closed.finish_sending();
      const auto id = engine.wait_for_request(++request);
      if (begun) engine.emit(id, piece("first "));
      raw_client other(server.port());
      EXPECT_EQ(other.get("/livez").status, 200);
      engine.emit(id, piece("second"));
      engine.emit(id, last_piece());
      const auto answer = half_closed.read_answer();
      EXPECT_EQ(answer.status, 200);
      const std::string expected = begun ? "first second" : "second";
      if (body == chat) {
        EXPECT_EQ(json::parse(answer.body)["choices"][0]["message"]["content"], expected);
      } else {
        EXPECT_EQ(streamed_text(answer.body), expected);
      }
      EXPECT_TRUE(half_closed.at_end());
    }
  }
  EXPECT_EQ(engine.aborts(), 0U);
}

TEST_F(http_server_test, half_closed_clients_get_every_kind_of_answer) {
  for (const std::string& text :
       {post_text("/v1/chat/completions", chat), post_text("/tokenize", R"({"prompt":"abc"})"),
        std::string("GET /livez HTTP/1.1\r\n\r\n"),
        post_text("/v1/chat/completions", chat) + post_text("/v1/chat/completions", streamed_chat)}) {
    raw_client half_closed(server.port());
    half_closed.send(text);
    half_closed.finish_sending();
    EXPECT_EQ(half_closed.read_answer().status, 200);
    if (text.ends_with(streamed_chat)) {
      EXPECT_EQ(half_closed.read_answer().status, 200) << "the pipelined one";
    }
    EXPECT_TRUE(half_closed.at_end());
  }
  raw_client refused(server.port());
  refused.send(post_text("/v1/chat/completions", "{"));
  refused.finish_sending();
  EXPECT_EQ(refused.read_answer().status, 400);
  raw_client old(server.port());
  old.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + std::to_string(streamed_chat.size()) +
           "\r\n\r\n" + streamed_chat);
  old.finish_sending();
  EXPECT_EQ(streamed_text(old.read_answer().body), "word word word ");
}

TEST_F(http_server_by_hand, a_client_that_leaves_during_tokenization_is_forgotten) {
  engine.hold_text_calls();
  client.send(post_text("/tokenize", R"({"prompt":"x"})"));
  engine.wait_for_request(1);
  client.close();
  raw_client other(server.port());
  EXPECT_EQ(other.get("/livez").status, 200);
  server.close();
}

TEST_F(http_server_by_hand, an_early_next_request_is_no_reason_to_abort) {
  client.send(post_text("/v1/chat/completions", chat));
  const auto id = engine.wait_for_request(1);
  client.send(post_text("/v1/chat/completions", chat));
  engine.emit(id, last_piece());
  EXPECT_EQ(client.read_answer().status, 200);
  engine.emit(engine.wait_for_request(2), last_piece());
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(engine.aborts(), 0U);
}

TEST(http_server, a_slow_reader_loses_its_stream_and_nobody_else_notices) {
  scripted_engine engine(pace::by_hand);
  http_options options = options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.limits.max_stream_buffer_bytes = 65536;
  http_server server = *http_server::start(options, engine);
  raw_client slow(server.port(), 4096);
  slow.send(post_text("/v1/chat/completions", streamed_chat));
  const auto id = engine.wait_for_request(1);
  raw_client quick(server.port());
  quick.send(post_text("/v1/chat/completions", streamed_chat));
  const auto quick_id = engine.wait_for_request(2);
  const std::string text(16384, 'x');
  while (engine.aborts() == 0) engine.emit(id, piece(text));
  engine.wait_for_abort(id);
  engine.emit(quick_id, piece("fine"));
  engine.emit(quick_id, last_piece());
  EXPECT_EQ(streamed_text(quick.read_answer().body), "fine");
  EXPECT_TRUE(slow.at_end());
  quick.close();
  while (server.connections() > 0) std::this_thread::yield();
  EXPECT_EQ(engine.running(), 0U);
}

TEST(http_server, a_client_that_never_reads_its_answer_is_closed) {
  scripted_engine engine(pace::by_hand);
  http_options options = options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.limits.write_timeout = std::chrono::milliseconds(50);
  http_server server = *http_server::start(options, engine);
  raw_client client(server.port(), 4096);
  client.send(post_text("/v1/chat/completions", chat));
  engine.emit(engine.wait_for_request(1), last_piece(finish_reason::stop, std::string(8U << 20U, 'x')));
  while (server.connections() > 0) std::this_thread::yield();
  EXPECT_EQ(engine.running(), 0U);
}

TEST(http_server, half_a_request_is_closed_in_time) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.header_timeout = options.limits.read_timeout = std::chrono::milliseconds(50);
  http_server server = *http_server::start(options, engine);
  const std::string whole = post_text("/v1/completions", R"({"prompt":"x"})");
  for (const std::size_t length : {std::size_t{1}, std::size_t{30}, whole.size() - 1}) {
    raw_client client(server.port());
    client.send(whole.substr(0, length));
    EXPECT_EQ(client.read_answer().status, 408) << length;
    EXPECT_TRUE(client.at_end());
  }
}

TEST(http_server, an_idle_connection_is_closed_in_time) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.idle_timeout = std::chrono::milliseconds(50);
  http_server server = *http_server::start(options, engine);
  raw_client silent(server.port());
  EXPECT_TRUE(silent.at_end());
  raw_client client(server.port());
  EXPECT_EQ(client.get("/livez").status, 200);
  EXPECT_TRUE(client.at_end());
}

TEST_F(http_server_by_hand, a_large_body_is_read_like_a_small_one) {
  const std::string text(100'000, 'a');
  client.send(post_text("/v1/completions", R"({"max_tokens":1,"prompt":")" + text + "\"}"));
  const request_id id = engine.wait_for_request(1);
  EXPECT_EQ(std::get<text_prompt>(engine.request_of(id)->prompt).text, text);
  engine.emit(id, last_piece(finish_reason::stop, "short"));
  EXPECT_EQ(json::parse(client.read_answer().body)["choices"][0]["text"], "short");
  EXPECT_EQ(client.post("/v1/completions", R"({"prompt":")" + text).status, 400);  // not JSON
  EXPECT_EQ(client.post("/v1/completions", R"({"prompt":1,"user":")" + text + "\"}").status, 400);
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + text + "\"}").status, 200);
}

TEST(http_server, large_bodies_share_one_bound) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.max_buffered_bytes = 200'000;
  http_server server = *http_server::start(options, engine);
  raw_client holder(server.port());
  holder.send("POST /tokenize HTTP/1.1\r\nContent-Length: 95000\r\n\r\n" + std::string(90'000, 'a'));
  const std::string body = R"({"prompt":")" + std::string(120'000, 'a') + "\"}";
  raw_answer refused;
  while (refused.status != 503) {  // until what the holder sent has arrived
    raw_client client(server.port());
    refused = client.post("/tokenize", body);
    ASSERT_TRUE(refused.status == 503 || refused.status == 200);
  }
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  holder.close();
  while (server.connections() > 0) std::this_thread::yield();
  raw_client again(server.port());
  EXPECT_EQ(again.post("/tokenize", body).status, 200);
}

TEST(http_server, a_body_that_is_announced_and_never_sent_takes_no_room) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.max_buffered_bytes = 100'000;
  http_server server = *http_server::start(options, engine);
  std::vector<raw_client> announcers;
  for (int i = 0; i < 8; ++i) {
    announcers.emplace_back(server.port());
    announcers.back().send(
        "POST /tokenize HTTP/1.1\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(announcers.back().read_answer().status, 100);
  }
  raw_client client(server.port());
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(20'000, 'a') + "\"}").status, 200);
}

TEST(http_server, connections_beyond_the_limit_are_told_so) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 2;
  http_server server = *http_server::start(options, engine);
  raw_client first(server.port());
  raw_client second(server.port());
  EXPECT_EQ(first.get("/livez").status, 200);
  EXPECT_EQ(second.get("/livez").status, 200);
  raw_client third(server.port());
  EXPECT_EQ(third.get("/livez").status, 503);
  third.close();
  first.close();
  while (server.connections() > 1) std::this_thread::yield();
  raw_client fourth(server.port());
  EXPECT_EQ(fourth.get("/livez").status, 200);
}

TEST(http_server, closing_ends_live_streams_and_late_events_are_harmless) {
  scripted_engine engine(pace::by_hand);
  stream_sink late;
  {
    http_server server = *http_server::start(options_of_test(), engine);
    raw_client streaming(server.port());
    raw_client waiting(server.port());
    streaming.send(post_text("/v1/chat/completions", streamed_chat));
    const auto first = engine.wait_for_request(1);
    engine.emit(first, piece("x"));
    waiting.send(post_text("/v1/chat/completions", chat));
    engine.wait_for_request(2);
    late = engine.sink_of(first);
    server.close();
    server.close();
    EXPECT_EQ(engine.aborts(), 2U);
    EXPECT_TRUE(streaming.at_end());
    EXPECT_TRUE(waiting.at_end());
  }
  late(piece("too late"));
}

TEST(http_server, draining_ends_idle_connections_and_lets_answers_end) {
  scripted_engine engine(pace::by_hand);
  http_server server = *http_server::start(options_of_test(), engine);
  raw_client idle(server.port());
  EXPECT_EQ(idle.get("/livez").status, 200);
  raw_client busy(server.port());
  busy.send(post_text("/v1/chat/completions", chat));
  const auto id = engine.wait_for_request(1);
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  EXPECT_TRUE(idle.at_end());
  engine.emit(id, last_piece(finish_reason::stop, "done"));
  const auto answer = busy.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  done.get_future().wait();
  raw_client late(server.port());
  EXPECT_EQ(late.get("/livez").status, 0);
  EXPECT_EQ(engine.aborts(), 0U);
}

// Clients whose requests have not come whole.
struct half_sent : ::testing::Test {
  half_sent() {
    const std::string whole = post_text("/tokenize", R"({"prompt":"x"})");
    const std::string chunk = "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab";
    for (const std::string& part : {whole.substr(0, 30), whole.substr(0, whole.size() - 1), chunk}) {
      clients.push_back(std::make_unique<raw_client>(server.port()));
      clients.back()->send(part);
    }
    // The last one to be read: what came before it has been read, too.
    raw_client last(server.port());
    EXPECT_EQ(last.get("/livez").status, 200);
  }
  void expect_refused(const std::string& why) {
    for (const auto& client : clients) {
      const auto answer = client->read_answer();
      EXPECT_EQ(answer.status, 503);
      EXPECT_TRUE(answer.headers.contains("retry-after"));
      EXPECT_NE(answer.body.find(why), std::string::npos) << answer.body;
      EXPECT_TRUE(client->at_end());
      client->close();
    }
  }
  static http_options patient() {
    http_options options = options_of_test();
    options.limits.header_timeout = options.limits.read_timeout = std::chrono::hours(1);
    return options;
  }

  scripted_engine engine;
  http_server server = *http_server::start(patient(), engine);
  std::vector<std::unique_ptr<raw_client>> clients;
};

TEST_F(half_sent, requests_are_refused_where_the_server_drains) {
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  expect_refused("shutting down");
  done.get_future().wait();
}

TEST_F(half_sent, requests_are_told_why_the_server_closes) {
  server.close(std::chrono::seconds(2), {error_code::unavailable, "its gateway has ended"});
  expect_refused("its gateway has ended");
}

TEST(http_server, a_server_can_start_where_another_has_ended) {
  scripted_engine engine;
  http_options options = options_of_test();
  for (int i = 0; i < 5; ++i) {
    auto server = http_server::start(options, engine);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    options.listen.port = server->port();
    raw_client client(server->port());
    EXPECT_EQ(client.get("/livez").status, 200);
  }
}

TEST_F(http_server_test, goes_by_new_limits_and_keeps_the_connections_that_are_open) {
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status, 200);
  raw_client second(server.port());
  EXPECT_EQ(second.get("/livez").status, 200);
  server.change({.max_connections = 1, .max_body_bytes = 2048});
  while (second.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status == 200) {
  }
  raw_client third(server.port());
  EXPECT_EQ(third.get("/livez").status, 503) << "two are open already";
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":"a"})").status, 200);
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status, 413);
}

}  // namespace
}  // namespace troupe::net::testing
