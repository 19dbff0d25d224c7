// One compile for equal grammars, a bound in bytes, refusals that pass.
#include "runtime/grammar/grammar_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/grammar/compile_spec.hpp"

namespace troupe::grammar {
namespace {

using namespace std::chrono_literals;

grammar_spec regex(const std::string& text) { return {.kind = grammar_kind::regex, .text = text}; }

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
  const auto first = cache.get(regex("a+"), words, {}, compile_counted);
  const auto again = cache.get(regex("a+"), words, {}, compile_counted);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *cache.get(regex("b+"), words, {}, compile_counted));
  EXPECT_NE(*first, *cache.get(regex("a+"), std::make_shared<int>(0), {}, compile_counted));
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
          *cache.get(regex("x{3}"), nullptr, {}, [&](const grammar_spec& spec) {
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
    const auto refused = cache.get(regex("("), nullptr, start + later, refuse);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message, "no");
  }
  EXPECT_EQ(compiles, 2);
  EXPECT_EQ(cache.count().refused, 2U);
}

TEST(grammar_cache, a_compile_that_throws_leaves_it_to_the_next) {
  grammar_cache cache;
  EXPECT_THROW((void)cache.get(regex("a"), nullptr, {},
                               [](const grammar_spec&) -> grammar_cache::compiled {
                                 throw std::runtime_error("out of memory");
                               }),
               std::runtime_error);
  EXPECT_TRUE(cache.get(regex("a"), nullptr, {}, compile_regex).has_value());
  EXPECT_EQ(cache.count().grammars, 1U);
}

TEST(grammar_cache, the_least_recently_asked_for_go_and_the_bytes_stay_bounded) {
  const std::size_t one = (*compile_regex(regex("a0")))->memory_bytes() + 512;
  grammar_cache cache({.max_bytes = 3 * one});
  const auto ask = [&](int i) {
    return cache.get(regex("a" + std::to_string(i)), nullptr, {}, compile_regex);
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
    (void)cache.get(regex("(" + std::string(one, 'x') + std::to_string(i)), nullptr, {}, compile_regex);
  EXPECT_LE(cache.count().bytes, 3 * one);
}

TEST(grammar_cache, what_a_grammar_has_grown_to_is_found_when_it_trims) {
  grammar_cache cache({.max_bytes = 1U << 20U});
  const auto grammar = *cache.get(regex("(a|b)*c{0,2000}"), nullptr, {}, compile_regex);
  const std::size_t before = cache.count().bytes;
  const auto use = grammar->current();
  {
    const auto held = use->lock();
    auto at = *use->start();
    for (int i = 0; i < 500; ++i) at = *use->next(at, "c");
  }
  cache.trim();
  EXPECT_GT(cache.count().bytes, before);
  EXPECT_EQ(cache.count().grammars, 1U);
}

}  // namespace
}  // namespace troupe::grammar
