#include "runtime/drafting/gathered_news.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

// Whoever is told of everything, as a drafter is.
struct listener {
  std::unordered_map<request_id, tokens> of_open;
  std::unordered_map<request_id, tokens> of_ended;
  int calls = 0;

  void append(request_id id, std::span<const token_id> more, std::int32_t) {
    ++calls;
    of_open[id].insert(of_open[id].end(), more.begin(), more.end());
  }
  void close(request_id id) {
    of_ended[id] = of_open[id];
    of_open.erase(id);
  }
};

TEST(gathered_news, joins_what_several_steps_have_given_a_request) {
  gathered_news news;
  news.open(7);
  news.open(3);
  news.add(7, tokens{1});
  news.add(3, tokens{2, 3});
  news.end_step();
  news.add(3, tokens{4});
  news.add(7, tokens{5, 6});
  news.end_step();
  EXPECT_EQ(news.num_steps(), 2);
  const draft_news told = news.take();
  ASSERT_EQ(told.outputs.size(), 2U);
  EXPECT_EQ(told.outputs[0].id, 3U);
  EXPECT_EQ(told.outputs[0].count, 3);
  EXPECT_EQ(told.outputs[1].id, 7U);
  EXPECT_EQ(told.outputs[1].count, 3);
  EXPECT_EQ(told.tokens, (tokens{2, 3, 4, 1, 5, 6}));
  EXPECT_TRUE(news.is_empty());
  EXPECT_EQ(news.num_steps(), 0);
}

TEST(gathered_news, says_nothing_of_strangers) {
  gathered_news news;
  news.add(1, tokens{5});
  news.end(1);
  news.end_step();
  EXPECT_TRUE(news.is_empty());
  EXPECT_EQ(news.num_steps(), 0) << "a step of strangers is none that waits to be told";
  news.open(1);
  news.end(1);
  news.end(1);
  news.add(1, tokens{5});
  EXPECT_EQ(news.take().ended, std::vector<request_id>{1}) << "an end is told once, and nothing behind it";
}

TEST(gathered_news, forgets_all_with_whoever_was_told) {
  gathered_news news;
  news.open(1);
  news.add(1, tokens{5});
  news.end_step();
  news.forget();
  EXPECT_TRUE(news.is_empty());
  EXPECT_EQ(news.num_steps(), 0);
  news.add(1, tokens{6});
  EXPECT_TRUE(news.is_empty()) << "the next one does not know the request";
}

// Whenever it is told, each request's tokens come whole and in order, and before its end.
TEST(gathered_news, tells_the_same_however_often_it_is_told) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t bound) { return random() % bound; };
    gathered_news at_once;
    gathered_news gathered;
    listener hears_each;
    listener hears_some;
    std::vector<request_id> open;
    request_id next = 0;
    for (int step = 0; step < 200; ++step) {
      if (below(4) == 0) {
        open.push_back(next);
        for (gathered_news* news : {&at_once, &gathered}) news->open(next);
        ++next;
      }
      for (const request_id id : open) {
        tokens more(below(4));
        for (token_id& token : more) token = static_cast<token_id>(below(100));
        for (gathered_news* news : {&at_once, &gathered}) news->add(id, more);
      }
      if (!open.empty() && below(5) == 0) {
        const std::size_t which = below(static_cast<std::uint32_t>(open.size()));
        for (gathered_news* news : {&at_once, &gathered}) news->end(open[which]);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (gathered_news* news : {&at_once, &gathered}) news->end_step();
      at_once.take().tell(hears_each);
      if (below(6) == 0) gathered.take().tell(hears_some);
    }
    gathered.take().tell(hears_some);
    std::erase_if(hears_each.of_open, [](const auto& each) { return each.second.empty(); });
    std::erase_if(hears_some.of_open, [](const auto& each) { return each.second.empty(); });
    EXPECT_EQ(hears_some.of_open, hears_each.of_open) << seed;
    EXPECT_EQ(hears_some.of_ended, hears_each.of_ended) << seed;
    EXPECT_GT(hears_some.of_ended.size(), 10U);
    EXPECT_LT(hears_some.calls, hears_each.calls / 2);
  }
}

}  // namespace
}  // namespace troupe
