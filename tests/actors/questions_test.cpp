// What a company is asked beside requests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/generation_request.hpp"
#include "tests/actors/company_members_fixture.hpp"

namespace troupe::test {
namespace {

TEST(Text, GoesToTokensAndBack) {
  stage stage;
  std::vector<token_id> tokens;
  std::string text;
  stage.port().tokenize({text_prompt{"abc"}, true}, [&](const result<net::tokenize_reply>& reply) {
    ASSERT_TRUE(reply);
    tokens = reply->tokens;
  });
  stage.port().detokenize({'x', 'y'}, [&](const result<std::string>& reply) { text = reply.value(); });
  int refused = 0;
  stage.port().detokenize({'x', 9999}, [&](const result<std::string>& reply) { refused += reply ? 0 : 1; });
  stage.port().detokenize({-1}, [&](const result<std::string>& reply) { refused += reply ? 0 : 1; });
  stage.run();
  EXPECT_EQ(tokens, (std::vector<token_id>{'a', 'b', 'c'}));
  std::vector<std::string> texts;
  for (const token_id id : tokens) texts.push_back(stage.port().token_text(id));
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(text, "xy");
  EXPECT_EQ(refused, 2);
  stage.port().detokenize({'x', 0xE2, 0x82, 'y', 0xFF},
                          [&](const result<std::string>& reply) { text = reply.value(); });
  stage.run();
  EXPECT_EQ(text, "x\uFFFDy\uFFFD") << "as a stream shows it";
}

TEST(Questions, AreAnsweredWhereARequestStandsAndWhetherTheCacheIsForgotten) {
  stage stage;
  const auto who = stage.ask("hello", 100);
  std::optional<request_state> seen;
  stage.run(30);
  stage.port().describe(who->id, [&](std::optional<request_state> state) { seen = std::move(state); });
  stage.run(10);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->id, who->id);
  EXPECT_EQ(seen->phase, request_phase::running);
  EXPECT_EQ(seen->prompt_tokens, 5);
  EXPECT_GE(seen->computed_tokens, 5);
  stage.run();
  int answers = 0;
  stage.port().describe(who->id, [&](const std::optional<request_state>& state) {
    ++answers;
    EXPECT_FALSE(state);
  });
  stage.port().reset_prefix_cache([&](bool done) {
    ++answers;
    EXPECT_TRUE(done);
  });
  stage.run();
  EXPECT_EQ(answers, 2);
  stage.kill(stage.roster().scheduler);
  stage.kill(stage.roster().kv_cache);
  stage.port().describe(1, [&](const std::optional<request_state>& state) { answers += state ? 0 : 1; });
  stage.port().reset_prefix_cache([&](bool done) { answers += done ? 0 : 1; });
  stage.run();
  EXPECT_EQ(answers, 4);
}

}  // namespace
}  // namespace troupe::test
