#include "actors/net/sockets/listener.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "actors/net/http/http_server.hpp"
#include "actors/net/tcp/tcp_server.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {
namespace {

TEST(listener, a_port_in_use_is_an_error_that_names_it) {
  scripted_engine engine;
  auto first = http_server::start({}, engine);
  ASSERT_TRUE(first.has_value());
  http_options taken;
  taken.listen.port = first->port();
  const auto second = http_server::start(taken, engine);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, error_code::io_error);
  EXPECT_EQ(second.error().message.find("port " + std::to_string(first->port()) + " on 127.0.0.1 is in use"),
            0U);
  tcp_options also_taken;
  also_taken.listen.port = first->port();
  EXPECT_FALSE(tcp_server::start(also_taken, engine).has_value());
}

TEST(listener, a_host_that_is_not_ours_is_an_error_that_names_it) {
  scripted_engine engine;
  for (const std::string host : {"no such host", "192.0.2.1", ""}) {
    http_options options;
    options.listen.host = host;
    const auto server = http_server::start(options, engine);
    ASSERT_FALSE(server.has_value()) << host;
    EXPECT_NE(server.error().message.find("host \"" + host + "\""), std::string::npos);
    const bool may_come = host == "192.0.2.1";  // when the machine's network is up
    EXPECT_EQ(server.error().code, may_come ? error_code::io_error : error_code::invalid_argument) << host;
    EXPECT_EQ(server.error().param, "host") << "no other port would help";
  }
}

TEST(listener, listens_on_ipv6_too) {
  if (::access("/proc/net/if_inet6", R_OK) != 0) GTEST_SKIP() << "this machine has no IPv6";
  scripted_engine engine;
  http_options options;
  options.listen.host = "::";
  auto server = http_server::start(options, engine);
  if (!server) GTEST_SKIP() << server.error().message;
  raw_client mapped(server->port());
  EXPECT_EQ(mapped.get("/livez").status, 200);
}

TEST(listener, goes_on_when_descriptors_run_out_and_come_back) {
  scripted_engine engine;
  http_server server = *http_server::start({}, engine);
  raw_client before(server.port());
  EXPECT_EQ(before.get("/livez").status, 200);
  raw_client waiting(server.port());
  EXPECT_EQ(waiting.get("/livez").status, 200);
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit low = old;
  low.rlim_cur = 256;
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::vector<int> spent;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY))
    spent.push_back(fd);
  ::close(spent.back());
  spent.pop_back();
  raw_client late(server.port());  // takes the last descriptor: none is left for the server's side
  late.send("GET /livez HTTP/1.1\r\n\r\n");
  EXPECT_EQ(before.get("/livez").status, 200);
  for (const int fd : spent) ::close(fd);
  EXPECT_EQ(late.read_answer().status, 200);
  ::setrlimit(RLIMIT_NOFILE, &old);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

TEST(listener, a_server_leaves_no_descriptor_behind) {
  scripted_engine engine;
  const auto before = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    http_server http = *http_server::start({}, engine);
    tcp_server tcp = *tcp_server::start({}, engine);
    std::vector<raw_client> clients;
    for (int i = 0; i < 10; ++i) clients.emplace_back(i % 2 == 0 ? http.port() : tcp.port());
    EXPECT_EQ(clients[0].get("/livez").status, 200);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace troupe::net::testing
