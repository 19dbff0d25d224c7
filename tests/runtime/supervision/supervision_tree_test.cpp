#include "runtime/supervision/supervision_tree.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe {
namespace {

using std::chrono::seconds;
using roles = std::vector<std::string>;

constexpr steady_time start{};

supervised group(std::string name, restart_strategy strategy, restart_intensity intensity,
                 std::vector<supervised> members) {
  return {std::move(name), strategy, intensity, std::move(members)};
}

supervision_tree a_tree(restart_intensity inner = {3, seconds(10)},
                        restart_intensity outer = {2, seconds(60)}) {
  return supervision_tree(
      group("all", restart_strategy::one_for_one, outer,
            {supervised::role("a"),
             group("inner", restart_strategy::rest_for_one, inner,
                   {supervised::role("b"), group("pair", restart_strategy::one_for_one, inner,
                                                 {supervised::role("c"), supervised::role("d")})}),
             supervised::role("e")}));
}

TEST(supervision_tree, starts_its_roles_in_the_order_of_their_declaration) {
  EXPECT_EQ(a_tree().roles(), (roles{"a", "b", "c", "d", "e"}));
}

TEST(supervision_tree, restarts_one_for_one) {
  auto tree = a_tree();
  EXPECT_EQ(tree.ended("a", start).restarts, roles{"a"});
  EXPECT_EQ(tree.ended("c", start).restarts, roles{"c"});
}

TEST(supervision_tree, restarts_the_rest_for_one) {
  auto tree = a_tree();
  EXPECT_EQ(tree.ended("b", start).restarts, (roles{"b", "c", "d"}));
}

TEST(supervision_tree, knows_no_other_roles_and_no_groups) {
  auto tree = a_tree();
  for (const char* name : {"x", "inner", "all"}) {
    const auto verdict = tree.ended(name, start);
    EXPECT_TRUE(verdict.restarts.empty());
    EXPECT_FALSE(verdict.gives_up);
  }
}

TEST(supervision_tree, leaves_out_what_others_do_without_until_it_is_started_with_those_before_it) {
  supervised spare = group("spare", restart_strategy::one_for_one, {1, seconds(10)}, {supervised::role("c")});
  spare.is_dispensable = true;
  supervision_tree tree(group("all", restart_strategy::rest_for_one, {1, seconds(10)},
                              {supervised::role("a"), supervised::role("b"), spare}));
  EXPECT_EQ(tree.ended("c", start).restarts, roles{"c"});
  const auto verdict = tree.ended("c", start);
  EXPECT_TRUE(verdict.is_left_out && verdict.restarts.empty());
  EXPECT_FALSE(verdict.gives_up);
  EXPECT_EQ(tree.ended("b", start).restarts, (roles{"b", "c"})) << "no parent had to help before";
  EXPECT_EQ(tree.ended("c", start).restarts, roles{"c"}) << "it begins anew";
}

TEST(supervision_tree, gives_up_beyond_the_intensity_of_its_root) {
  auto tree = a_tree();
  EXPECT_FALSE(tree.ended("a", start).gives_up);
  EXPECT_FALSE(tree.ended("e", start).gives_up);
  const auto verdict = tree.ended("a", start + seconds(59));
  EXPECT_TRUE(verdict.gives_up);
  EXPECT_TRUE(verdict.restarts.empty());
}

TEST(supervision_tree, forgets_restarts_after_the_period) {
  auto tree = a_tree();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(tree.ended("a", start + i * seconds(30)).restarts, roles{"a"});
}

TEST(supervision_tree, does_not_count_what_is_excused) {
  auto tree = a_tree();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(tree.ended("a", start, true).restarts, roles{"a"});
  EXPECT_FALSE(tree.ended("a", start).gives_up);
  EXPECT_FALSE(tree.ended("a", start).gives_up);
  EXPECT_TRUE(tree.ended("a", start).gives_up);
}

TEST(supervision_tree, escalates_a_group_that_ends_too_often) {
  auto tree = a_tree();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tree.ended("c", start).restarts, roles{"c"});
  EXPECT_EQ(tree.ended("c", start).restarts, (roles{"c", "d"})) << "its group begins anew";
  EXPECT_EQ(tree.ended("c", start).restarts, roles{"c"});
}

TEST(supervision_tree, escalates_from_group_to_group_until_nobody_is_left) {
  auto tree = a_tree({0, seconds(10)}, {1, seconds(60)});
  EXPECT_EQ(tree.ended("c", start).restarts, (roles{"b", "c", "d"})) << "the root restarts the whole group";
  EXPECT_TRUE(tree.ended("d", start).gives_up);
}

TEST(supervision_tree, takes_further_roles_of_a_group) {
  auto tree = a_tree();
  tree.add("inner", "f");
  tree.add("nobody", "g");
  EXPECT_EQ(tree.roles(), (roles{"a", "b", "c", "d", "f", "e"}));
  EXPECT_EQ(tree.ended("b", start).restarts, (roles{"b", "c", "d", "f"}));
}

TEST(supervision_tree, tells_its_groups_and_how_often_they_have_restarted_lately) {
  auto tree = a_tree();
  tree.ended("c", start);
  tree.ended("c", start + seconds(8));
  const supervision_tree::outline all = tree.describe(start + seconds(12));
  EXPECT_EQ(all.name, "all");
  ASSERT_EQ(all.members.size(), 3U);
  EXPECT_FALSE(all.members[0].is_group);
  const auto& inner = all.members[1];
  EXPECT_TRUE(inner.is_group);
  EXPECT_EQ(inner.strategy, restart_strategy::rest_for_one);
  EXPECT_EQ(inner.intensity.most, 3);
  ASSERT_EQ(inner.members.size(), 2U);
  EXPECT_EQ(inner.members[1].recent_restarts, 1U) << "the first was more than ten seconds ago";
  EXPECT_EQ(inner.members[1].members[0].name, "c");
  EXPECT_EQ(all.recent_restarts, 0U);
}

}  // namespace
}  // namespace troupe
