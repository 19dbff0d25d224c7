#include "actors/net/host_field.hpp"

#include <gtest/gtest.h>

namespace troupe::net::testing {
namespace {

TEST(host_field, has_the_host_as_in_a_url_and_the_port_unless_it_is_that_of_http) {
  EXPECT_EQ(host_field("127.0.0.1", "8000"), "127.0.0.1:8000");
  EXPECT_EQ(host_field("::1", "4318"), "[::1]:4318");
  EXPECT_EQ(host_field("::1", "80"), "[::1]");
  EXPECT_EQ(host_field("collector.example", "80"), "collector.example");
}

}  // namespace
}  // namespace troupe::net::testing
