// Probes on a port of their own.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "actors/net/http/loading_server.hpp"
#include "actors/net/sockets/kept_listener.hpp"
#include "tests/actors/net/http/http_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

http_options with_probes() {
  http_options options = options_of_test();
  options.probes.emplace();
  return options;
}

TEST(probe_port, answers_probes_and_scrapes_and_refuses_the_rest) {
  scripted_engine engine;
  http_server server = *http_server::start(with_probes(), engine);
  ASSERT_NE(server.probe_port(), server.port());
  for (const char* const path : {"/livez", "/readyz", "/health", "/metrics"}) {
    EXPECT_EQ(raw_client(server.probe_port()).get(path).status, 200) << path;
    EXPECT_EQ(raw_client(server.port()).get(path).status, 200) << path;
  }
  engine.set_status({.live = false, .ready = false, .reason = "a step hangs"});
  EXPECT_EQ(raw_client(server.probe_port()).get("/livez").status, 503);
  EXPECT_EQ(raw_client(server.probe_port()).get("/v1/models").status, 404);
  const raw_answer refused = raw_client(server.probe_port()).post("/v1/chat/completions", chat);
  EXPECT_EQ(refused.status, 404);
  EXPECT_NE(refused.body.find("/livez, /readyz, /health and /metrics"), std::string::npos) << refused.body;
  EXPECT_EQ(engine.requests(), 0U);
}

TEST(probe_port, is_there_only_where_it_is_asked_for) {
  scripted_engine engine;
  EXPECT_EQ(http_server::start(options_of_test(), engine)->probe_port(), 0U);
  http_options unknown = with_probes();
  unknown.probes->host = "no-such-host.invalid";
  const auto server = http_server::start(unknown, engine);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, error_code::invalid_argument);
}

// Whom the other port has no place for has one here.
TEST(probe_port, is_not_full_where_the_other_one_is) {
  scripted_engine engine;
  http_options options = with_probes();
  options.limits.max_connections = 1;
  http_server server = *http_server::start(options, engine);
  raw_client only(server.port());
  EXPECT_EQ(only.get("/v1/models").status, 200);
  only.send("G");
  EXPECT_EQ(raw_client(server.port()).get("/v1/models").status, 503);
  EXPECT_EQ(raw_client(server.probe_port()).get("/livez").status, 200);
}

TEST(probe_port, is_served_until_the_end_of_those_who_are_answered) {
  scripted_engine engine(pace::by_hand);
  http_server server = *http_server::start(with_probes(), engine);
  raw_client client(server.port());
  client.send(post_text("/v1/chat/completions", chat));
  engine.wait_for_request(1);
  server.drain([] {});
  EXPECT_EQ(raw_client(server.probe_port()).get("/livez").status, 200);
  const std::uint16_t port = server.probe_port();
  server.close();
  EXPECT_FALSE(raw_client(port).send("GET /livez HTTP/1.1\r\n\r\n"));
}

TEST(probe_port, goes_from_the_loading_server_to_whoever_serves_after_it) {
  scripted_engine engine;
  std::optional<loading_server> loading =
      *loading_server::start(with_probes(), {.id = "m"}, [] { return std::string("troupe_info 1\n"); });
  http_options next = with_probes();
  next.listen.kept = loading->listener();
  next.probes->kept = loading->probe_listener();
  const std::uint16_t port = next.probes->kept->port();
  EXPECT_EQ(raw_client(port).get("/livez").status, 200);
  EXPECT_EQ(raw_client(port).get("/readyz").status, 503);
  loading.reset();
  raw_client between(port);
  between.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
  const http_server server = *http_server::start(next, engine);
  EXPECT_EQ(server.probe_port(), port);
  EXPECT_EQ(between.read_answer().status, 200) << "who comes between the two waits";
}

}  // namespace
}  // namespace troupe::net::testing
