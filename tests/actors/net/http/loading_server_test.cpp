#include "actors/net/http/loading_server.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "actors/net/keys_in_force.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"

namespace troupe::net {
namespace {

http_options any_port(std::uint16_t port = 0) {
  http_options options;
  options.listen = {.host = "127.0.0.1", .port = port};
  return options;
}

std::string nothing() { return {}; }

TEST(loading_server, says_how_far_the_model_is_and_refuses_requests_with_503) {
  auto server =
      loading_server::start(any_port(), {.id = "small"}, [] { return std::string("requests 0\n"); });
  ASSERT_TRUE(server) << server.error().message;
  testing::raw_client client(server->port());
  EXPECT_EQ(client.get("/livez").status, 200);
  for (const int phase : {1, 2, 3}) {
    server->show(phase, 3, "weights");
    const testing::raw_answer ready = client.get("/readyz");
    EXPECT_EQ(ready.status, 503);
    EXPECT_NE(ready.body.find("loading [" + std::to_string(phase) + "/3] weights"), std::string::npos)
        << ready.body;
  }
  const auto refused = client.post("/v1/completions", R"({"model":"small","prompt":"a"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("loading [3/3] weights"), std::string::npos) << refused.body;
  EXPECT_EQ(client.post("/tokenize", R"({"model":"small","prompt":"a"})").status, 503);
  EXPECT_NE(client.get("/v1/models").body.find("\"small\""), std::string::npos);
  const testing::raw_answer metrics = client.get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.body, "requests 0\n");
}

TEST(loading_server, wants_the_key_that_the_service_will_want) {
  http_options options = any_port();
  options.keys = std::make_shared<keys_in_force>(key_digest(std::string_view("key-of-ann-1")));
  auto server = loading_server::start(options, {.id = "small"}, nothing);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(testing::raw_client(server->port()).get("/v1/models").status, 401);
  EXPECT_EQ(testing::raw_client(server->port()).post("/v1/completions", R"({"prompt":"a"})").status, 401);
  EXPECT_EQ(testing::raw_client(server->port()).get("/readyz").status, 503);
  const char* const key = "Authorization: Bearer key-of-ann-1\r\n";
  EXPECT_EQ(testing::raw_client(server->port()).post("/v1/completions", R"({"prompt":"a"})", key).status,
            503);
}

TEST(loading_server, is_not_live_while_the_loading_gets_nowhere) {
  auto server = loading_server::start(any_port(), {.id = "small"}, nothing);
  ASSERT_TRUE(server) << server.error().message;
  testing::raw_client client(server->port());
  server->show(2, 3, "profiling");
  server->stall("the runner process 17 has got nowhere for 31 s");
  const testing::raw_answer live = client.get("/livez");
  EXPECT_EQ(live.status, 503);
  EXPECT_NE(live.body.find("the runner process 17 has got nowhere"), std::string::npos) << live.body;
  server->stall(std::nullopt);
  EXPECT_EQ(client.get("/livez").status, 200);
  EXPECT_NE(client.get("/readyz").body.find("loading [2/3] profiling"), std::string::npos);
}

TEST(loading_server, leaves_its_port_to_who_comes_after_it) {
  std::optional<loading_server> first = *loading_server::start(any_port(), {.id = "m"}, nothing);
  const std::uint16_t port = first->port();
  testing::raw_client client(port);
  EXPECT_EQ(client.get("/readyz").status, 503);
  EXPECT_FALSE(loading_server::start(any_port(port), {.id = "m"}, nothing)) << "in use";
  first.reset();
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(loading_server::start(any_port(port), {.id = "m"}, nothing));
}

}  // namespace
}  // namespace troupe::net
