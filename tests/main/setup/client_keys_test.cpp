#include "main/setup/client_keys.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

TEST(client_keys, are_those_of_the_file_or_the_variable_and_nobody_needs_one_without) {
  config::loaded_settings loaded;
  EXPECT_TRUE(read_client_keys(loaded)->keys->empty());
  loaded.api_key = "a-key-of-ann";
  EXPECT_FALSE(read_client_keys(loaded)->keys->empty());
  loaded.api_key = "";
  EXPECT_FALSE(read_client_keys(loaded)) << "an empty one opens nothing";
  loaded.api_key.reset();
  loaded.values.api_key_file = "/nowhere/keys";
  EXPECT_FALSE(read_client_keys(loaded));
}

}  // namespace
}  // namespace troupe
