#include "actors/net/key_digest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actors/net/keys_in_force.hpp"

namespace troupe::net::testing {
namespace {

const std::vector<std::string> two_keys = {"key-of-ann-1", "key-of-bob-1"};

TEST(key_digest, of_several_knows_each_and_no_other) {
  const key_digest digest(two_keys);
  EXPECT_EQ(digest.size(), 2U);
  for (const std::string& key : two_keys) EXPECT_TRUE(digest.matches(key));
  EXPECT_FALSE(digest.matches("key-of-cal-1") || digest.matches(""));
  using list = std::vector<std::string>;
  EXPECT_TRUE(digest.are(list{two_keys[1], two_keys[0], two_keys[0]}));
  EXPECT_FALSE(digest.are(list{two_keys[0]}) || digest.are(list{}) ||
               digest.are(list{two_keys[0], "key-of-cal-1"}));
  EXPECT_TRUE(key_digest(list{}).are(list{}) && !key_digest(list{}).matches(""));
}

TEST(keys_in_force, are_replaced_as_a_whole) {
  keys_in_force keys{key_digest(two_keys)};
  EXPECT_EQ(keys.size(), 2U);
  EXPECT_TRUE(keys.are(two_keys));
  keys.replace(key_digest(std::string_view("key-of-cal-1")));
  EXPECT_TRUE(keys.matches("key-of-cal-1") && !keys.matches(two_keys[0]) && !keys.are(two_keys));
  keys.replace(key_digest(std::vector<std::string>()));
  EXPECT_TRUE(keys.empty() && is_authorized(&keys, "") && is_authorized(nullptr, "any"));
}

}  // namespace
}  // namespace troupe::net::testing
