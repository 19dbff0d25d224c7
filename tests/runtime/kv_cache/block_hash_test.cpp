// Against tests/data/block_hashes.json, which make_block_hashes.py made with Python's hashlib.
#include "runtime/kv_cache/block_hash.hpp"
#include "tests/support/paths.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace troupe {
namespace {

std::string hex(const block_hash& hash) {
  std::string text;
  for (const std::uint8_t byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

TEST(block_hash, chains_equal_those_of_an_independent_sha_256) {
  std::ifstream in(test::source_path("tests/data/block_hashes.json"));
  const auto cases = nlohmann::json::parse(in);
  ASSERT_GE(cases.size(), 15U);
  block_hasher hasher;
  for (const auto& each : cases) {
    block_hash parent = hasher.root({each["cache_salt"], each["adapter"], each["extra"]});
    EXPECT_EQ(hex(parent), each["root"]);
    const std::vector<token_id> tokens = each["tokens"];
    const std::size_t block_size = each["block_size"];
    ASSERT_EQ(each["blocks"].size(), tokens.size() / block_size);
    for (std::size_t i = 0; i < each["blocks"].size(); ++i) {
      parent = hasher.next(parent, std::span(tokens).subspan(i * block_size, block_size));
      EXPECT_EQ(hex(parent), each["blocks"][i]) << each.dump();
    }
  }
}

TEST(block_hash, every_part_of_the_scope_the_order_and_the_parent_change_it) {
  block_hasher hasher;
  std::set<block_hash> roots;
  for (const prefix_scope& scope : {prefix_scope{},
                                    {"a"},
                                    {"b"},
                                    {"", "a"},
                                    {"", "", "a"},
                                    {"ab", "c"},
                                    {"a", "bc"},
                                    {std::string(1, '\0')}}) {
    roots.insert(hasher.root(scope));
  }
  EXPECT_EQ(roots.size(), 8U);
  const block_hash root = hasher.root({});
  const std::vector<token_id> one{1, 2, 3, 4};
  const std::vector<token_id> other{1, 2, 4, 3};
  const block_hash first = hasher.next(root, one);
  const std::set<block_hash> blocks{first, hasher.next(root, other), hasher.next(first, one),
                                    hasher.next(hasher.root({"a"}), one)};
  EXPECT_EQ(blocks.size(), 4U);
  EXPECT_EQ(hasher.next(root, one), first) << "the context keeps nothing of what it hashed before";
}

}  // namespace
}  // namespace troupe
