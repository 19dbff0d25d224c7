// What operators are told of the actors.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

std::optional<net::company_report> report_of(stage& stage) {
  std::optional<net::company_report> told;
  auto call = std::make_shared<company_call>([&](auto report) { told = std::move(*report); },
                                             fail(error_code::unavailable, "nobody"));
  caf::anon_send(stage.supervisor(), msg::describe_company{}, std::move(call));
  stage.run();
  return told;
}

void add_actors(const net::tree_report& tree, std::map<std::string, net::actor_report>& all) {
  if (!tree.group) all[tree.name] = tree.actor;
  for (const net::tree_report& member : tree.members) add_actors(member, all);
}
std::map<std::string, net::actor_report> actors_of(stage& stage) {
  std::map<std::string, net::actor_report> all;
  add_actors(report_of(stage)->tree, all);
  return all;
}

std::uint64_t handled(const net::actor_report& actor, const std::string& message) {
  const auto found = std::ranges::find(actor.handled, message, [](const auto& each) { return each.first; });
  return found == actor.handled.end() ? 0 : found->second;
}

TEST(DescribeCompany, TellsTheTreeAndWhatEachActorHasHandled) {
  stage stage;
  stage.ask("hello", 7);
  stage.run();
  const auto report = report_of(stage);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, "ready");
  EXPECT_EQ(report->supervisor.state, net::actor_state::running);
  EXPECT_EQ(handled(report->supervisor, "start_company"), 1U);
  EXPECT_TRUE(report->supervisor.is_busy) << "with this very question";
  ASSERT_TRUE(report->tree.group);
  EXPECT_EQ(report->tree.name, "company");
  const auto all = actors_of(stage);
  for (const char* role :
       {"model_runner", "quick grammar_compiler", "patient grammar_compiler", "scheduler", "kv_cache",
        "structured_output", "tokenizer 0", "tokenizer 2", "text worker", "gateway"}) {
    ASSERT_TRUE(all.contains(role)) << role;
    EXPECT_EQ(all.at(role).state, net::actor_state::running) << role;
    EXPECT_EQ(all.at(role).restarts, 0U) << role;
    EXPECT_FALSE(all.at(role).is_busy) << role;
    EXPECT_EQ(all.at(role).mailbox, 0U) << role;
  }
  EXPECT_EQ(handled(all.at("scheduler"), "submit"), 1U);
  EXPECT_EQ(handled(all.at("model_runner"), "run_step"), 7U);
  const auto streams =
      handled(all.at("tokenizer 0"), "generate") + handled(all.at("tokenizer 1"), "generate");
  EXPECT_EQ(streams, 1U) << "the members of a pool are told apart";
  EXPECT_TRUE(all.at("scheduler").last_message);
  EXPECT_FALSE(all.at("quick grammar_compiler").last_message);
}

TEST(DescribeCompany, CountsTheRestartsOfARoleAndBeginsAnewWithTheNextActor) {
  stage stage;
  stage.ask("hello", 7);
  stage.run();
  stage.kill(stage.roster().kv_cache);
  stage.run();
  const auto all = actors_of(stage);
  EXPECT_EQ(all.at("kv_cache").restarts, 1U);
  EXPECT_EQ(all.at("kv_cache").state, net::actor_state::running);
  EXPECT_EQ(handled(all.at("kv_cache"), "reserve_step"), 0U);
  EXPECT_EQ(all.at("scheduler").restarts, 0U);
}

TEST(DescribeCompany, ARunnerWhoseDeviceDoesNotOpenIsStopped) {
  stage stage({.adjust = [](supervisor_parts& parts) {
    parts.device = *parts.open_device(true);
    parts.open_device = [](bool) -> result<runner_device> { return fail(error_code::io_error, "no device"); };
  }});
  stage.kill(stage.roster().model_runner);
  stage.run();
  const auto report = report_of(stage);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, "model_runner has ended");
  EXPECT_EQ(actors_of(stage).at("model_runner").state, net::actor_state::stopped);
}

TEST(DescribeCompany, TheQuestionIsAnsweredAlsoWhereNoSupervisorIsLeft) {
  std::optional<error> refused;
  {
    stage stage;
    stage.kill(stage.supervisor());
    stage.run();
    auto call = std::make_shared<company_call>([&](auto report) { refused = report.error(); },
                                               fail(error_code::unavailable, "nobody"));
    caf::anon_send(stage.supervisor(), msg::describe_company{}, std::move(call));
    stage.run();
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, error_code::unavailable);
}

}  // namespace
}  // namespace troupe::test
