#include "main/setup/service_url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe {
namespace {

TEST(service_url, has_a_host_a_port_and_what_stands_before_each_path) {
  const auto plain = parse_url("http://127.0.0.1:8000");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host + "|" + plain->port + "|" + plain->base, "127.0.0.1|8000|");
  const auto behind = parse_url("http://[::1]/troupe/");
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->host + "|" + behind->port + "|" + behind->base, "::1|80|/troupe");
}

TEST(service_url, has_a_port_that_there_is) {
  for (const char* port : {"1", "80", "65535"}) {
    const auto url = parse_url(std::string("localhost:") + port);
    ASSERT_TRUE(url) << port;
    EXPECT_EQ(url->port, port);
  }
  for (const char* port : {"", "0", "00000", "65536", "86571", "99999", "100000", "-1", "+80", "8o", "80 "}) {
    EXPECT_FALSE(parse_url(std::string("localhost:") + port)) << port;
    EXPECT_FALSE(parse_url(std::string("http://[::1]:") + port + "/x")) << port;
  }
}

}  // namespace
}  // namespace troupe
