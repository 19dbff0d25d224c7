#include "runtime/drafting/drafted_request.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

// Tokens that follow a match of 10, each of another class than those of the other source.
suffix_continuation continuation(const tokens& proposed, float share = 1.0F) {
  return {10, proposed, std::vector<float>(proposed.size(), share),
          std::vector<std::uint32_t>(proposed.size(), 1)};
}

class drafted_request_test : public ::testing::Test {
 protected:
  void propose(const tokens& proposed, bool is_longest_match = true) {
    request.clear_proposals();
    request.propose(continuation(proposed), draft_source::tenant, is_longest_match, estimates);
  }
  // What the estimates must have become: these tokens were compared.
  void expect_observed(const std::vector<std::pair<std::int32_t, bool>>& compared) {
    acceptance_estimates expected;
    for (const auto& [place, is_right] : compared) expected.observe(evidence(place), is_right);
    for (std::int32_t place = 0; place < 4; ++place)
      EXPECT_EQ(estimates.estimate(evidence(place)), expected.estimate(evidence(place))) << place;
  }
  static token_evidence evidence(std::int32_t place) { return {draft_source::tenant, 10 + place, 1.0F, 1}; }

  acceptance_estimates estimates;
  drafted_request request{{}, 0, tokens{1, 2, 3}};
};

TEST_F(drafted_request_test, a_proposal_is_compared_up_to_its_first_wrong_token) {
  propose({5, 6, 7, 8});
  request.append(tokens{5, 6, 9, 8}, estimates);
  expect_observed({{0, true}, {1, true}, {2, false}});
  request.append(tokens{8}, estimates);
  expect_observed({{0, true}, {1, true}, {2, false}});
}

TEST_F(drafted_request_test, a_proposal_is_compared_with_tokens_that_come_one_by_one) {
  propose({5, 6, 7});
  for (const token_id token : {5, 6, 7, 8}) request.append(std::span(&token, 1), estimates);
  expect_observed({{0, true}, {1, true}, {2, true}});
}

TEST_F(drafted_request_test, a_proposal_that_was_replaced_is_not_compared) {
  propose({5, 6, 7});
  propose({8});
  request.append(tokens{5, 6}, estimates);
  expect_observed({{0, false}});
}

TEST_F(drafted_request_test, only_the_longest_match_says_how_good_a_sequence_is) {
  for (const bool is_longest : {false, true}) {
    propose({5}, is_longest);
    const float before = request.best_proposal()->probabilities[0];
    for (int i = 0; i < 3; ++i) {
      propose({5}, is_longest);
      request.append(tokens{6}, estimates);
    }
    propose({5});
    // The class has become worse; the sequence only with the longest match.
    const float ratio = request.best_proposal()->probabilities[0] / request.best_proposal()->estimates[0];
    EXPECT_EQ(ratio < 0.99F, is_longest);
    EXPECT_LT(request.best_proposal()->probabilities[0], before);
  }
}

TEST_F(drafted_request_test, the_best_proposal_promises_the_most_accepted_tokens) {
  EXPECT_EQ(request.best_proposal(), nullptr);
  request.propose(continuation({5}), draft_source::request, true, estimates);
  request.propose(continuation({6, 7, 8}), draft_source::request, true, estimates);
  request.propose(continuation({9, 9, 9}, 0.1F), draft_source::request, true, estimates);
  request.propose(continuation({6, 7, 8}), draft_source::request, false, estimates);
  ASSERT_NE(request.best_proposal(), nullptr);
  EXPECT_EQ(request.best_proposal()->tokens, (tokens{6, 7, 8}));
  EXPECT_TRUE(request.best_proposal()->is_longest_match);
  const auto& p = request.best_proposal()->probabilities;
  EXPECT_FLOAT_EQ(static_cast<float>(request.best_proposal()->expected_accepted()),
                  p[0] + p[0] * p[1] + p[0] * p[1] * p[2]);
  EXPECT_FLOAT_EQ(static_cast<float>(request.best_proposal()->expected_accepted(1)),
                  p[0] * p[1] + p[0] * p[1] * p[2]);
  EXPECT_EQ(request.best_proposal(3), nullptr) << "none has a token behind three others";
}

TEST_F(drafted_request_test, keeps_prompt_and_output_apart) {
  request.append(tokens{4, 5}, estimates);
  EXPECT_EQ(request.num_tokens(), 5);
  EXPECT_EQ(tokens(request.output().begin(), request.output().end()), (tokens{4, 5}));
  EXPECT_EQ(request.context(3).front(), 3);
  EXPECT_EQ(request.context(99).size(), 5U);
  EXPECT_TRUE(request.index(4));
  EXPECT_FALSE(request.index(4));
}

}  // namespace
}  // namespace troupe
