#include "config/spelling.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::config {
namespace {

const std::vector<std::string_view> names{"host", "port", "ports", "max_num_seqs"};

TEST(Spelling, TheNearestNameIsTheOneWithTheFewestEdits) {
  EXPECT_EQ(nearest_name("prot", names), "port");
  EXPECT_EQ(nearest_name("ports", names), "ports");
  EXPECT_EQ(nearest_name("portss", names), "ports");
  EXPECT_EQ(nearest_name("max-num-seq", names), "max_num_seqs");
}

TEST(Spelling, NothingIsNearToAnotherWordOrAVeryLongOne) {
  EXPECT_EQ(nearest_name("completely_different", names), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'p'), names), "");
  EXPECT_EQ(nearest_name("port", {}), "");
}

}  // namespace
}  // namespace troupe::config
