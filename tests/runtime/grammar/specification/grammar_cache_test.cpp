// One compile for equal grammars, a bound in bytes, refusals that pass.
#include "runtime/grammar/specification/grammar_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"

namespace troupe::grammar {
namespace {

using namespace std::chrono_literals;

grammar_spec_ptr spec_of(const std::string& text) {
  return std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = text});
}

grammar_cache::compiled compile_regex(const grammar_spec& spec) {
  return compile(spec, byte_token_trie(), grammar_limits{});
}

TEST(grammar_cache, equal_specifications_are_one_grammar_and_others_are_not) {
  grammar_cache cache;
  int compiles = 0;
  const auto compile_counted = [&](const grammar_spec& spec) {
    ++compiles;
    return compile_regex(spec);
  };
  const auto words = byte_token_trie();
  const auto first = cache.get(spec_of("a+"), words, {}, compile_counted);
  const auto again = cache.get(spec_of("a+"), words, {}, compile_counted);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *cache.get(spec_of("b+"), words, {}, compile_counted));
  EXPECT_NE(*first, *cache.get(spec_of("a+"), std::make_shared<int>(0), {}, compile_counted));
  EXPECT_EQ(compiles, 3);
  EXPECT_EQ(cache.count().hits, 1U);
  EXPECT_EQ(cache.count().queries, 4U);
  EXPECT_EQ(cache.count().compiled, 3U);
}

TEST(grammar_cache, what_is_asked_for_at_the_same_moment_is_compiled_once) {
  grammar_cache cache;
  constexpr int askers = 8;
  std::latch all_here(askers);
  std::atomic<int> compiles{0};
  std::vector<compiled_grammar_ptr> got(askers);
  std::vector<std::thread> threads;
  for (int i = 0; i < askers; ++i)
    threads.emplace_back([&, i] {
      all_here.arrive_and_wait();
      got[static_cast<std::size_t>(i)] =
          *cache.get(spec_of("x{3}"), nullptr, {}, [&](const grammar_spec& spec) {
            ++compiles;
            return compile_regex(spec);
          });
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(compiles, 1);
  for (const compiled_grammar_ptr& each : got) EXPECT_EQ(each, got[0]);
}

TEST(grammar_cache, a_refusal_is_remembered_for_its_time) {
  grammar_cache cache({.refused_for = 10s});
  int compiles = 0;
  const auto refuse = [&](const grammar_spec&) -> grammar_cache::compiled {
    ++compiles;
    return fail(error_code::invalid_argument, "no");
  };
  const steady_time start{};
  for (const auto later : {0s, 9s, 10s, 19s}) {
    const auto refused = cache.get(spec_of("("), nullptr, start + later, refuse);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message, "no");
  }
  EXPECT_EQ(compiles, 2);
  EXPECT_EQ(cache.count().refused, 2U);
}

TEST(grammar_cache, what_is_refused_in_use_is_refused_for_its_time) {
  grammar_cache cache({.refused_for = 10s});
  const steady_time start{};
  const auto first = cache.get(spec_of("a"), nullptr, start, compile_regex);
  const auto other = cache.get(spec_of("b"), nullptr, start, compile_regex);
  ASSERT_TRUE(first.has_value());
  cache.refuse(**first, {error_code::invalid_argument, "too much", "max_mask_steps"}, start + 1s);
  const auto again = cache.get(spec_of("a"), nullptr, start + 10s, compile_regex);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().message, "too much");
  EXPECT_EQ(*cache.get(spec_of("b"), nullptr, start + 10s, compile_regex), *other);
  EXPECT_EQ(cache.count().refused, 1U);
  const auto anew = cache.get(spec_of("a"), nullptr, start + 11s, compile_regex);
  ASSERT_TRUE(anew.has_value());
  EXPECT_NE(*anew, *first);
  cache.refuse(**first, {error_code::invalid_argument, "too much", "max_mask_steps"}, start + 12s);
  EXPECT_TRUE(cache.get(spec_of("a"), nullptr, start + 12s, compile_regex)) << "that one is here no more";
}

TEST(grammar_cache, a_compile_that_throws_leaves_it_to_the_next) {
  grammar_cache cache;
  EXPECT_THROW((void)cache.get(spec_of("a"), nullptr, {},
                               [](const grammar_spec&) -> grammar_cache::compiled {
                                 throw std::runtime_error("out of memory");
                               }),
               std::runtime_error);
  EXPECT_TRUE(cache.get(spec_of("a"), nullptr, {}, compile_regex).has_value());
  EXPECT_EQ(cache.count().grammars, 1U);
}

TEST(grammar_cache, the_least_recently_asked_for_go_and_the_bytes_stay_bounded) {
  const std::size_t one = (*compile_regex(*spec_of("a0")))->memory_bytes() + 512;
  grammar_cache cache({.max_bytes = 3 * one});
  const auto ask = [&](int i) {
    return cache.get(spec_of("a" + std::to_string(i)), nullptr, {}, compile_regex);
  };
  const auto held = *ask(0);
  for (int i = 1; i < 50; ++i) {
    (void)ask(0);
    (void)ask(i);
    EXPECT_LE(cache.count().bytes, 3 * one);
  }
  EXPECT_EQ(*ask(0), held) << "asked for all the time, and let go";
  EXPECT_GE(cache.count().evicted, 46U);
  // Refusals count too.
  for (int i = 0; i < 50; ++i)
    (void)cache.get(spec_of("(" + std::string(one, 'x') + std::to_string(i)), nullptr, {}, compile_regex);
  EXPECT_LE(cache.count().bytes, 3 * one);
}

TEST(grammar_cache, short_choices_count_as_what_they_take) {
  grammar_cache cache;
  grammar_spec spec{.kind = grammar_kind::choice, .choices = std::vector<std::string>(100'000, "x")};
  spec.choices.push_back(std::string(1'000'000, 'y'));
  (void)cache.get(std::make_shared<const grammar_spec>(std::move(spec)), nullptr, {},
                  [](const grammar_spec&) -> grammar_cache::compiled {
                    return fail(error_code::invalid_argument, "no");
                  });
  EXPECT_GE(cache.count().bytes, 100'001 * sizeof(std::string) + 1'000'000);
}

// Every text of a and b leads to a state of its own.
constexpr const char* growing = "(?s).*a.{16}";

void grow(matcher& place, std::mt19937& random, int tokens) {
  std::vector<std::uint32_t> mask(9);
  for (int i = 0; i < tokens; ++i) {
    ASSERT_TRUE(place.accept(random() % 2 == 0 ? 'a' : 'b').has_value());
    ASSERT_TRUE(place.fill_mask(mask).has_value());
  }
}

TEST(grammar_cache, what_a_grammar_in_use_has_grown_to_counts_and_comes_back_when_it_ends) {
  grammar_cache cache;
  auto grammar = *cache.get(spec_of(growing), nullptr, {}, compile_regex);
  const std::size_t before = cache.count().bytes;
  std::mt19937 random(1);
  matcher place(grammar);
  grow(place, random, 500);
  EXPECT_GT(cache.count().bytes, before + 50'000);
  EXPECT_GE(cache.count().bytes, grammar->memory_bytes());
  EXPECT_TRUE(cache.trim());
  EXPECT_GT(cache.count().bytes, before + 50'000) << "let go within the bound";
}

TEST(grammar_cache, running_matchers_stay_right_while_their_grammars_stay_within_the_bound) {
  constexpr std::size_t most = 4U << 20U;
  grammar_cache cache({.max_bytes = most});
  std::vector<matcher> places, free_places;
  for (int i = 0; i < 6; ++i) {
    const auto spec = spec_of(growing + std::to_string(i));
    places.emplace_back(*cache.get(spec, nullptr, {}, compile_regex));
    free_places.emplace_back(*compile_regex(*spec));
  }
  std::mt19937 random(2);
  std::vector<std::uint32_t> mask(9), expected(9);
  std::size_t largest = 0;
  for (int step = 0; step < 400; ++step) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const token_id token = random() % 2 == 0 ? 'a' : 'b';
      ASSERT_TRUE(places[i].accept(token) && free_places[i].accept(token));
      ASSERT_TRUE(places[i].fill_mask(mask) && free_places[i].fill_mask(expected));
      ASSERT_EQ(mask, expected) << step;
    }
    largest = std::max(largest, cache.count().bytes);
    ASSERT_TRUE(cache.trim());
    ASSERT_LE(cache.count().bytes, most);
  }
  EXPECT_GT(largest, most) << "nothing had to be let go";
  EXPECT_EQ(cache.count().grammars, 6U) << "a grammar in use was forgotten";
}

TEST(grammar_cache, what_is_needed_by_itself_is_told_when_it_passes_the_bound) {
  grammar_cache cache({.max_bytes = 1000});
  auto grammar = cache.get(spec_of("a+"), nullptr, {}, compile_regex);
  EXPECT_FALSE(cache.trim());
  grammar = fail(error_code::not_found, "ended");
  EXPECT_TRUE(cache.trim());
  EXPECT_EQ(cache.count().grammars, 0U);
}

}  // namespace
}  // namespace troupe::grammar
