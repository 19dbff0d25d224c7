#include "metrics/exposition.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/engine_metrics.hpp"

namespace troupe::metrics {
namespace {

TEST(Exposition, ReadsSamplesLabelsAndOddNumbers) {
  const exposition text(
      "# HELP a_total What a is.\n"
      "# TYPE a_total counter\n"
      "a_total{x=\"1\",y=\"two words\"} 3\n"
      "a_total{x=\"2\"} 1e-3 1700000000000\n"
      "\n"
      "b{le=\"+Inf\"} +Inf\n"
      "c NaN");
  EXPECT_EQ(text.all("a_total").size(), 2U);
  EXPECT_EQ(text.sum("a_total"), 3.001);
  EXPECT_EQ(text.sum("a_total", {{"x", "2"}}), 0.001);
  EXPECT_EQ(text.sum("a_total", {{"x", "3"}}), std::nullopt);
  EXPECT_EQ(text.sum("a"), std::nullopt);
  EXPECT_EQ(text.label("a_total", "y"), "two words");
  EXPECT_EQ(text.label_values("a_total", "x"), (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(std::isinf(text.sum("b").value()));
  EXPECT_TRUE(std::isnan(text.sum("c").value()));
}

TEST(Exposition, TakesEscapedLabelsApart) {
  const exposition text(R"(a{name="q\"b\\s\nline",next="}"} 1)");
  EXPECT_EQ(text.label("a", "name"), "q\"b\\s\nline");
  EXPECT_EQ(text.label("a", "next"), "}");
}

TEST(Exposition, LeavesOutWhatIsNoSample) {
  for (const char* line : {"a", "a{", "a{x", "a{x=", "a{x=\"", "a{x=\"1\"", "a{x=\"1\\", "{x=\"1\"} 2", "a x",
                           "a{x=\"1\" 2", "= 1", "\\", "a{=\"1\"} 1"})
    EXPECT_TRUE(exposition(line).empty()) << line;
  EXPECT_TRUE(exposition("").empty());
  EXPECT_EQ(exposition("a{x=\nb 2\n").sum("b"), 2);
}

TEST(Exposition, ReadsWhatTheEngineWrites) {
  engine_metrics metrics({.model_name = "a \"b\" \\ c", .engine = "0"});
  metrics.add_generation_tokens(17);
  metrics.observe_first_token(0.5);
  const exposition text(metrics.text());
  EXPECT_EQ(text.sum("vllm:generation_tokens_total"), 17);
  EXPECT_EQ(text.label("vllm:generation_tokens_total", "model_name"), "a \"b\" \\ c");
  EXPECT_EQ(text.sum("vllm:time_to_first_token_seconds_bucket", {{"le", "0.5"}}), 1);
  EXPECT_EQ(text.sum("vllm:time_to_first_token_seconds_bucket", {{"le", "0.25"}}), 0);
}

}  // namespace
}  // namespace troupe::metrics
