// The tree beside a list of sequences in which everything is counted anew.
#include "runtime/drafting/suffix_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "tests/support/dice.hpp"
#include "tests/support/seeds.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

class naive_sequences {
 public:
  struct sequence {
    tokens text = {};
    std::size_t removed = 0;  // suffixes that begin before do not count
  };

  void append(token_id token, bool begins) {
    if (begins) all.emplace_back();
    all.back().text.push_back(token);
  }
  // How often each run of up to `most` tokens occurs.
  std::map<tokens, std::uint32_t> counts(std::size_t most) const {
    std::map<tokens, std::uint32_t> out;
    for (const sequence& each : all) {
      for (std::size_t begin = each.removed; begin < each.text.size(); ++begin) {
        tokens run;
        for (std::size_t end = begin; end < std::min(each.text.size(), begin + most); ++end) {
          run.push_back(each.text[end]);
          ++out[run];
        }
      }
    }
    return out;
  }

  std::deque<sequence> all = {};
};

class simulation {
 public:
  explicit simulation(std::uint64_t seed)
      : random_(seed),
        depth_(random_.pick(2, 9)),
        alphabet_(random_.pick(1, 4)),
        tree_(depth_, random_.number()) {}

  void act() {
    const std::int32_t choice = random_.pick(1, 100);
    if (choice <= 80) {
      append();
    } else if (choice <= 88) {
      tree_.end_sequence();
      is_open_ = false;
    } else {
      remove();
    }
  }

  // Says what is wrong.
  std::string compare() {
    if (std::string wrong = tree_.check(); !wrong.empty()) return wrong;
    counts_ = naive_.counts(static_cast<std::size_t>(depth_));
    if (counts_.empty() && tree_.num_nodes() != 1) return "nodes without text";
    std::set<tokens> patterns;
    for (const auto& [pattern, count] : counts_) patterns.insert(pattern);
    for (int i = 0; i < 20; ++i) patterns.insert(draw(random_.pick(1, depth_)));
    for (const tokens& pattern : patterns) {
      const std::uint32_t counted = tree_.occurrences(pattern);
      if (counted != occurrences(pattern))
        return show(pattern) + " occurs " + std::to_string(occurrences(pattern)) + " times, not " +
               std::to_string(counted);
      if (std::string wrong = compare_continuation(pattern); !wrong.empty()) return wrong;
    }
    return compare_matches();
  }

 private:
  static std::string show(std::span<const token_id> pattern) {
    std::string text;
    for (const token_id token : pattern) text += std::to_string(token);
    return text;
  }
  std::uint32_t occurrences(std::span<const token_id> pattern) const {
    const auto found = counts_.find({pattern.begin(), pattern.end()});
    return found == counts_.end() ? 0 : found->second;
  }
  std::map<token_id, std::uint32_t> followers(tokens pattern) const {
    std::map<token_id, std::uint32_t> out;
    pattern.push_back(0);
    for (; pattern.back() < alphabet_; ++pattern.back()) {
      if (const std::uint32_t count = occurrences(pattern)) out[pattern.back()] = count;
    }
    return out;
  }
  tokens draw(std::int32_t length) {
    tokens out;
    while (length-- > 0) out.push_back(random_.pick(0, alphabet_ - 1));
    return out;
  }

  void append() {
    tokens more = draw(random_.pick(1, 6));
    if (random_.chance(40) && !naive_.all.empty()) {  // from what there is
      const tokens& source = naive_.all[random_.number() % naive_.all.size()].text;
      const std::size_t begin = random_.number() % source.size();
      const std::size_t count =
          std::min<std::size_t>(source.size() - begin, 2 * static_cast<std::size_t>(depth_));
      more.assign(source.begin() + static_cast<std::ptrdiff_t>(begin),
                  source.begin() + static_cast<std::ptrdiff_t>(begin + count));
    }
    tree_.append(more);
    for (const token_id token : more) {
      naive_.append(token, !is_open_);
      is_open_ = true;
    }
  }
  void remove() {
    const auto most = static_cast<std::size_t>(random_.pick(1, 12));
    const bool is_gone = tree_.remove_oldest(most);
    if (is_open_ || naive_.all.empty()) {
      EXPECT_TRUE(is_gone);
      return;
    }
    naive_sequences::sequence& oldest = naive_.all.front();
    oldest.removed = std::min(oldest.text.size(), oldest.removed + most);
    EXPECT_EQ(is_gone, oldest.removed == oldest.text.size());
    if (is_gone) naive_.all.pop_front();
  }

  // Each token is one of the likeliest followers, with its share.
  std::string compare_continuation(tokens pattern) {
    const auto from = tree_.find(pattern);
    if (!from) return occurrences(pattern) == 0 ? "" : show(pattern) + " is not found";
    suffix_continuation out;
    tree_.continue_from(*from, 6, 0.0F, out);
    for (std::size_t i = 0; i < out.tokens.size() && pattern.size() < static_cast<std::size_t>(depth_); ++i) {
      std::uint32_t sum = 0;
      std::uint32_t most = 0;
      const auto after = followers(pattern);
      for (const auto& [token, count] : after) {
        sum += count;
        most = std::max(most, count);
      }
      const token_id token = out.tokens[i];
      if (!after.contains(token) || after.at(token) != most)
        return show(pattern) + " is not followed most often by " + std::to_string(token);
      if (out.probabilities[i] != static_cast<float>(most) / static_cast<float>(sum))
        return show(pattern) + ": share of " + std::to_string(token);
      if (out.counts[i] < most) return show(pattern) + ": count of " + std::to_string(token);
      pattern.push_back(token);
    }
    const bool is_cut = out.tokens.size() < 6 && pattern.size() < static_cast<std::size_t>(depth_);
    if (is_cut && !followers(pattern).empty()) return show(pattern) + " goes on";
    return {};
  }

  std::string compare_matches() {
    const tokens context = draw(random_.pick(0, 2 * depth_));
    std::size_t longest = std::min<std::size_t>(context.size(), static_cast<std::size_t>(depth_));
    while (longest > 0 && occurrences(std::span(context).last(longest)) == 0) --longest;
    if (static_cast<std::size_t>(tree_.longest_match(context).match_length) != longest)
      return "the longest match of " + show(context);

    const std::span<const token_id> text =
        is_open_ ? std::span<const token_id>(naive_.all.back().text) : std::span<const token_id>();
    longest = std::min<std::size_t>(text.size(), static_cast<std::size_t>(depth_ - 1));
    while (longest > 0 && occurrences(text.last(longest)) < 2) --longest;
    if (static_cast<std::size_t>(tree_.repeated_length()) != longest)
      return "what is repeated has length " + std::to_string(longest);
    for (std::size_t length = 1; length <= longest; ++length) {
      const auto own = tree_.repeated(static_cast<std::int32_t>(length));
      const auto found = tree_.find(text.last(length));
      if (!found || found->node != own.node || found->offset != own.offset)
        return "where the last " + std::to_string(length) + " tokens lead";
    }
    return {};
  }

  dice random_;
  std::int32_t depth_;
  std::int32_t alphabet_;
  suffix_tree tree_;
  naive_sequences naive_;
  std::map<tokens, std::uint32_t> counts_;  // of the comparison
  bool is_open_ = false;
};

TEST(suffix_tree, counts_and_continues_as_a_list_of_all_sequences_does) {
  const test::seed_range seeds = test::seeds_to_run(30);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    simulation world(seed);
    for (int step = 0; step < 80; ++step) {
      world.act();
      const std::string wrong = world.compare();
      ASSERT_EQ(wrong, "") << "seed " << seed << ", step " << step;
    }
  }
}

// A queue of sequences: what it needs depends on those it holds, not on those that it held.
TEST(suffix_tree, memory_of_removed_sequences_is_used_again) {
  dice random(1);
  suffix_tree tree(16);
  std::size_t bytes = 0;
  for (int sequence = 0; sequence < 400; ++sequence) {
    tokens text(100);
    for (token_id& token : text) token = random.pick(0, sequence % 2 == 0 ? 3 : 5000);
    tree.append(text);
    tree.end_sequence();
    if (tree.num_sequences() > 20) {
      while (!tree.remove_oldest(7)) {
      }
    }
    if (sequence == 100) bytes = tree.bytes();
  }
  EXPECT_EQ(tree.check(), "");
  EXPECT_LE(tree.bytes(), 2 * bytes);
  while (tree.num_sequences() > 0) tree.remove_oldest(1000);
  EXPECT_EQ(tree.num_nodes(), 1U);
  EXPECT_EQ(tree.num_tokens(), 0U);
}

TEST(suffix_tree, continues_beyond_its_depth_along_the_newest_occurrence) {
  suffix_tree tree(4);
  tree.append(tokens{1, 2, 3, 4, 5, 6, 7, 8, 9});
  tree.end_sequence();
  tree.append(tokens{1, 2, 3, 4, 15, 16});
  tree.end_sequence();
  suffix_continuation out;
  tree.continue_from(tree.longest_match(tokens{1, 2, 3, 4}), 8, 0.0F, out);
  EXPECT_EQ(out.tokens, (tokens{15, 16}));
  tree.continue_from(tree.longest_match(tokens{6, 7}), 8, 0.0F, out);
  EXPECT_EQ(out.tokens, (tokens{8, 9}));
}

TEST(suffix_tree, continues_a_sequence_that_repeats_itself_for_ever) {
  suffix_tree tree(4);
  tree.append(tokens{5, 7, 8, 9, 7, 8});
  suffix_continuation out;
  tree.continue_from(tree.repeated(tree.repeated_length()), 7, 0.0F, out);
  EXPECT_EQ(out.match_length, 2);
  EXPECT_EQ(out.tokens, (tokens{9, 7, 8, 9, 7, 8, 9}));
  // From elsewhere its end is the end.
  tree.continue_from(tree.longest_match(tokens{9, 7}), 7, 0.0F, out);
  EXPECT_EQ(out.tokens, (tokens{8}));
}

TEST(suffix_tree, stops_where_the_product_of_shares_falls_below_the_least) {
  suffix_tree tree(8);
  for (const tokens& text : {tokens{1, 2, 3}, tokens{1, 2, 4}, tokens{1, 5, 6}, tokens{1, 2, 4}}) {
    tree.append(text);
    tree.end_sequence();
  }
  suffix_continuation out;
  const auto from = tree.longest_match(tokens{1});
  tree.continue_from(from, 8, 0.5F, out);
  EXPECT_EQ(out.tokens, (tokens{2, 4}));
  EXPECT_EQ(out.probabilities, (std::vector<float>{0.75F, 2.0F / 3.0F}));
  EXPECT_EQ(out.counts, (std::vector<std::uint32_t>{3, 2}));
  tree.continue_from(from, 8, 0.6F, out);
  EXPECT_EQ(out.tokens, (tokens{2}));
  tree.continue_from(from, 1, 0.0F, out);
  EXPECT_EQ(out.tokens, (tokens{2}));
}

}  // namespace
}  // namespace troupe
