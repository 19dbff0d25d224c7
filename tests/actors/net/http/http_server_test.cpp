// What an HTTP server answers.
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/json/json.hpp"
#include "tests/actors/net/http/http_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

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

TEST_F(http_server_test, answers_and_streams_a_response) {
  const auto whole =
      client.post("/v1/responses", R"({"input":"hi","max_output_tokens":3})", "X-Request-Id: job-1\r\n");
  ASSERT_EQ(whole.status, 200) << whole.body;
  const json body = json::parse(whole.body);
  EXPECT_EQ(body["id"], "resp_job-1");
  EXPECT_EQ(body["output"][0]["content"][0]["text"], "word word word ");
  EXPECT_EQ(body["max_output_tokens"], 3);
  EXPECT_EQ(body["status"], "incomplete");
  const auto streamed = client.post("/v1/responses", R"({"input":"hi","max_output_tokens":3,"stream":true})");
  EXPECT_TRUE(streamed.headers.at("content-type").starts_with("text/event-stream"));
  EXPECT_NE(streamed.body.find("event: response.incomplete\n"), std::string::npos) << streamed.body;
  EXPECT_EQ(streamed.body.find("[DONE]"), std::string::npos);
  EXPECT_EQ(client.post("/v1/responses", R"({"input":[]})").status, 400);
  EXPECT_EQ(client.get("/v1/responses").status, 405);
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
  for (const char* words :
       {"GET /v1/chat/completion\"s", "POST /v1/chat/completions, /v1/completions, /v1/responses",
        "/tokenize", "GET /v1/models, /tokenizer_info, /health", "/metrics", "/v1/requests/{id}"})
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

TEST_F(http_server_test, tells_many_tokens_in_pieces) {
  constexpr std::size_t count = 200'000;
  const std::string body = R"({"prompt":")" + std::string(count, 'a') + "\"}";
  const raw_answer answer = client.post("/tokenize", body);
  EXPECT_EQ(answer.headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(json::parse(answer.body)["tokens"].size(), count);
  EXPECT_TRUE(json::parse(answer.body)["token_strs"].is_null());
  client.send("POST /tokenize HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              body);
  EXPECT_EQ(json::parse(client.read_answer().body)["count"], count);
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
  raw_client spaced(server.port());
  spaced.send(head + "Content-Type: application/json ; charset=utf-8\r\n\r\n{}");
  EXPECT_NE(spaced.read_answer().status, 415);
  EXPECT_EQ(client.post("/tokenize", "{}", "Content-Encoding: gzip\r\n").status, 415);
  EXPECT_NE(client.post("/tokenize", "{}", "Content-Encoding: identity\r\n").status, 415);
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

TEST_F(http_server_test, several_prompts_have_their_answers_one_behind_the_other) {
  const std::vector<std::string> prompts = {"one", "two", "three"};
  for (const bool streams : {false, true}) {
    json asked = {{"prompt", prompts}, {"max_tokens", 2}, {"n", 2}, {"echo", true}};
    if (streams) asked.update({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
    const auto answer = client.post("/v1/completions", asked.dump());
    ASSERT_EQ(answer.status, 200);
    std::vector<std::string> texts(6);
    json used;
    for (const std::string& data : streams ? sse_data(answer.body) : std::vector{answer.body}) {
      if (data == "[DONE]") continue;
      const json part = json::parse(data);
      for (const json& choice : part["choices"])
        texts.at(choice["index"].get<std::size_t>()) += choice["text"].get<std::string>();
      if (!part["usage"].is_null()) used = part["usage"];
    }
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], prompts[i / 2] + "word word ") << i;
    EXPECT_EQ(used["prompt_tokens"], 9);
    EXPECT_EQ(used["completion_tokens"], 12);
  }
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

TEST_F(http_server_test, a_client_of_http_1_0_expects_nothing) {
  const std::string body = R"({"prompt":"abc"})";
  for (const char* expected : {"100-continue", "a-miracle"}) {
    raw_client old(server.port());
    old.send(std::string("POST /tokenize HTTP/1.0\r\nExpect: ") + expected +
             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(old.read_answer().status, 200) << expected;
    EXPECT_TRUE(old.at_end()) << expected;
  }
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
        std::string("GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
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

TEST_F(http_server_test, an_empty_line_in_front_of_a_request_is_passed_over) {
  const std::string request = "GET /livez HTTP/1.1\r\n\r\n";
  for (const auto& [first, then] : std::vector<std::pair<std::string, std::string>>{
           {"\r\n" + request, ""}, {"\r", "\n" + request}, {"\r\n", request}, {request + "\r\n", request}}) {
    raw_client other(server.port());
    other.send(first);
    if (first.starts_with(request)) {
      EXPECT_EQ(other.read_answer().status, 200);
    }
    other.send(then);
    EXPECT_EQ(other.read_answer().status, 200) << first;
  }
  raw_client other(server.port());
  other.send("\r\n\r\n" + request);
  EXPECT_EQ(other.read_answer().status, 400);
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

}  // namespace
}  // namespace troupe::net::testing
