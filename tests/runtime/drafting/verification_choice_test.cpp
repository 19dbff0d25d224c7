#include "runtime/drafting/verification_choice.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe {
namespace {

constexpr auto same_draw = draft_verification::same_draw;
constexpr auto rejection = draft_verification::rejection;

// Tokens of so many requests are accepted with these chances; how many requests went by rejection.
int play(verification_choice& choice, int requests, double same_draw_rate, double rejection_rate) {
  std::mt19937 random(7);
  std::bernoulli_distribution same(same_draw_rate);
  std::bernoulli_distribution rejected(rejection_rate);
  int by_rejection = 0;
  for (int i = 0; i < requests; ++i) {
    const draft_verification how = choice.next();
    by_rejection += how == rejection ? 1 : 0;
    for (int token = 0; token < 50; ++token)
      choice.observe(how, how == rejection ? rejected(random) : same(random));
  }
  return by_rejection;
}

TEST(verification_choice, takes_what_is_accepted_more_often_and_tries_the_other_now_and_then) {
  verification_choice choice(rejection_method::automatic);
  const int by_rejection = play(choice, 1600, 0.6, 0.8);
  EXPECT_GT(by_rejection, 1440);
  EXPECT_LT(by_rejection, 1540);
}

TEST(verification_choice, follows_when_the_better_one_changes) {
  verification_choice choice(rejection_method::automatic);
  play(choice, 400, 0.5, 0.8);
  EXPECT_GT(choice.rate(rejection), choice.rate(same_draw));
  play(choice, 400, 0.7, 0.4);
  EXPECT_LT(play(choice, 400, 0.7, 0.4), 60);
}

TEST(verification_choice, begins_with_both_in_turns) {
  verification_choice choice(rejection_method::automatic);
  int by_rejection = 0;
  for (int i = 0; i < 20; ++i) by_rejection += choice.next() == rejection ? 1 : 0;
  EXPECT_EQ(by_rejection, 10);
}

TEST(verification_choice, does_as_it_is_told) {
  verification_choice strict(rejection_method::strict);
  EXPECT_EQ(play(strict, 200, 0.1, 0.9), 0);
  verification_choice probabilistic(rejection_method::probabilistic);
  EXPECT_EQ(play(probabilistic, 200, 0.9, 0.1), 200);
}

}  // namespace
}  // namespace troupe
