#include "runtime/tokenizer/greedy_merge.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/tokenizer/merge_table.hpp"

namespace troupe {
namespace {

// The definition: look for the lowest rank from left to right, join, begin again.
std::vector<token_id> naive(std::vector<token_id> ids, const merge_table& merges) {
  for (;;) {
    merge_candidate best;
    std::size_t place = 0;
    for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
      const auto candidate = merges.find(ids[at], ids[at + 1]);
      if (candidate.rank < best.rank) best = candidate, place = at;
    }
    if (best.rank == merge_candidate::no_rank) return ids;
    ids[place] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(greedy_merger, joins_in_the_order_of_the_ranks) {
  std::mt19937 random(9);
  greedy_merger merger;
  for (int round = 0; round < 2000; ++round) {
    merge_table merges(30);
    for (token_id next = 4; next < 34; ++next) {
      merges.add(static_cast<token_id>(random() % static_cast<unsigned>(next)),
                 static_cast<token_id>(random() % 4), next);
    }
    std::vector<token_id> ids(random() % 30);
    std::vector<merge_symbol> symbols;
    const std::string text(ids.size(), '.');
    for (std::size_t at = 0; at < ids.size(); ++at) {
      ids[at] = static_cast<token_id>(random() % 4);
      symbols.push_back({std::string_view(text).substr(at, 1), ids[at]});
    }
    merger.run(symbols, [&](const merge_symbol& left, const merge_symbol& right) {
      return merges.find(left.id, right.id);
    });
    std::vector<token_id> merged;
    std::size_t bytes = 0;
    for (const auto& symbol : symbols) {
      merged.push_back(symbol.id);
      bytes += symbol.text.size();
    }
    EXPECT_EQ(merged, naive(ids, merges));
    EXPECT_EQ(bytes, text.size());
  }
}

}  // namespace
}  // namespace troupe
