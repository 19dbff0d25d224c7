// Answers on their way, and clients that leave meanwhile.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/net/http/request_directory.hpp"
#include "runtime/json/json.hpp"
#include "tests/actors/net/http/http_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

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

// The scheduler forgets a request as its last step ends, before its client has the end.
TEST_F(http_server_by_hand, what_has_run_does_not_wait_again_before_its_end) {
  raw_client asker(server.port());
  client.send(
      post_text("/v1/completions", R"({"prompt":"x","n":2,"stream":true})", "X-Request-Id: job-1\r\n"));
  engine.wait_for_request(2);
  engine.emit(1, piece("first"));
  std::string seen;
  while (seen.find("\n\n") == std::string::npos) seen += client.read_exactly(1);
  const auto state = [&asker] { return json::parse(asker.get("/v1/requests/cmpl-job-1").body); };
  EXPECT_EQ(state()["choices"][1]["state"], "running") << "from now on that is known of both";
  engine.leave_scheduler(1);
  engine.leave_scheduler(2);
  const json late = state();
  EXPECT_EQ(late["state"], "running");
  for (const json& choice : late["choices"])
    EXPECT_EQ(choice["reason"], "running: its end is on its way from the scheduler");
  EXPECT_EQ(late["choices"][0]["completion_tokens"], piece("first").tokens.size());
}

TEST(request_directory, tells_only_the_request_that_has_the_name_now) {
  request_directory directory;
  const usage tokens{3, 2, 0};
  {
    const request_directory::listing first(directory, "x", {1, 2, 3});
    directory.told("x", 3, tokens);
    EXPECT_EQ(directory.find("x")->at(2).told->completion_tokens, 2);
    directory.told("x", 3, {3, 1, 0});
    EXPECT_EQ(directory.find("x")->at(2).told->completion_tokens, 2) << "who knows of fewer is late";
  }
  request_directory::listing next(directory, "x", {4});
  directory.told("x", 3, tokens);
  directory.told("y", 4, tokens);
  ASSERT_EQ(directory.find("x")->size(), 1U);
  EXPECT_FALSE(directory.find("x")->front().told);
  next.told(0, tokens);
  EXPECT_EQ(directory.find("x")->front().told->prompt_tokens, 3);
}

TEST_F(http_server_by_hand, what_nothing_is_known_of_is_on_its_way) {
  raw_client asker(server.port());
  client.send(post_text("/v1/completions", R"({"prompt":"x"})", "X-Request-Id: job-1\r\n"));
  engine.leave_scheduler(engine.wait_for_request(1));
  const json state = json::parse(asker.get("/v1/requests/cmpl-job-1").body);
  EXPECT_EQ(state["state"], "waiting");
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
  for (const json& asked : {json{{"prompt", "x"}, {"n", 3}}, json{{"prompt", {"x", "y", "z"}}}}) {
    for (const bool streams : {false, true}) {
      json body = asked;
      body["stream"] = streams;
      const auto before = engine.requests();
      client.send(post_text("/v1/completions", body.dump()));
      engine.wait_for_request(before + 3);
      engine.emit(before + 2, failed({error_code::resource_exhausted, "full"}));
      EXPECT_EQ(client.read_answer().status, 429);
      engine.wait_for_abort(before + 1);
      engine.wait_for_abort(before + 3);
    }
  }
}

TEST_F(http_server_by_hand, a_client_that_leaves_aborts_all_of_its_answers) {
  raw_client leaver(server.port());
  leaver.send(post_text("/v1/completions", R"({"prompt":["x","y"],"n":3})"));
  engine.wait_for_request(6);
  leaver.close();
  for (const request_id id : {1, 2, 3, 4, 5, 6}) engine.wait_for_abort(id);
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
  // By words that OpenAI's clients know, and as an error where the service has ended.
  const std::vector<std::pair<finish_reason, json>> told{{finish_reason::stop, {"stop", nullptr}},
                                                         {finish_reason::length, {"length", nullptr}},
                                                         {finish_reason::timeout, {"length", "timeout"}}};
  std::size_t request = 0;
  for (const auto& [reason, words] : told) {
    client.send(post_text("/v1/chat/completions", chat));
    engine.emit(engine.wait_for_request(++request), last_piece(reason, "x"));
    const json choice = json::parse(client.read_answer().body)["choices"][0];
    EXPECT_EQ(json({choice["finish_reason"], choice["stop_reason"]}), words);
  }
  client.send(post_text("/v1/chat/completions", chat));
  engine.emit(engine.wait_for_request(++request), last_piece(finish_reason::abort, "x"));
  const auto cut_off = client.read_answer();
  EXPECT_EQ(cut_off.status, 503);
  EXPECT_EQ(json::parse(cut_off.body)["error"]["code"], "unavailable");
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

// More than the server reads ahead.
std::string many_early_requests(std::size_t count) {
  const std::string request = "GET /version HTTP/1.1\r\nHost: test\r\nX-Padding: " + std::string(900, 'x');
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += request + "\r\n\r\n";
  return all;
}

TEST_F(http_server_by_hand, a_client_that_leaves_with_many_early_requests_is_aborted) {
  std::size_t request = 0;
  for (const std::string& body : {chat, streamed_chat}) {
    for (const bool by_reset : {false, true}) {
      raw_client leaver(server.port());
      leaver.send(post_text("/v1/chat/completions", body) + many_early_requests(100));
      const auto id = engine.wait_for_request(++request);
      if (by_reset) leaver.reset();
      leaver.close();
      engine.wait_for_abort(id);
    }
  }
  EXPECT_EQ(engine.running(), 0U);
}

TEST_F(http_server_by_hand, many_early_requests_of_a_client_that_ends_its_sending_are_answered) {
  constexpr std::size_t early = 100;
  client.send(post_text("/v1/chat/completions", chat) + many_early_requests(early));
  client.finish_sending();
  const auto id = engine.wait_for_request(1);
  const std::string probe = client.read_exactly(9);
  EXPECT_EQ(probe, "HTTP/1.1 ") << "it is found out whether the client is there";
  engine.emit(id, last_piece());
  const std::string answers = probe + client.read_to_end();
  std::size_t count = 0;
  for (auto at = answers.find("HTTP/1.1 200"); at != std::string::npos;
       at = answers.find("HTTP/1.1 200", at + 1))
    ++count;
  EXPECT_EQ(count, 1 + early);
  EXPECT_EQ(engine.aborts(), 0U);
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

}  // namespace
}  // namespace troupe::net::testing
