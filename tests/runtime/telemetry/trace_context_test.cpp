// The rules of W3C Trace Context, and OpenTelemetry's samplers.
#include "runtime/telemetry/trace_context.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

const std::string trace_hex = "0af7651916cd43dd8448eb211c80319c";
const std::string parent_hex = "b7ad6b7169203331";
const std::string valid_parent = "00-" + trace_hex + "-" + parent_hex + "-01";

TEST(traceparent, is_read_with_its_flag) {
  const auto found = parse_traceparent(valid_parent);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_hex(found->trace), trace_hex);
  EXPECT_EQ(to_hex(found->parent), parent_hex);
  EXPECT_TRUE(found->sampled);
  EXPECT_FALSE(parse_traceparent("00-" + trace_hex + "-" + parent_hex + "-00")->sampled);
  EXPECT_TRUE(parse_traceparent("00-" + trace_hex + "-" + parent_hex + "-ff")->sampled)
      << "other flags are ignored";
  EXPECT_FALSE(parse_traceparent("00-" + trace_hex + "-" + parent_hex + "-fe")->sampled);
}

TEST(traceparent, that_breaks_a_rule_is_none) {
  const std::string zeros(32, '0');
  const std::vector<std::string> broken = {
      "",
      valid_parent.substr(0, 54),
      valid_parent + "0",
      valid_parent + "-00",  // version 00 ends here
      "ff-" + trace_hex + "-" + parent_hex + "-01",
      "0-" + trace_hex + "-" + parent_hex + "-011",
      "00-" + zeros + "-" + parent_hex + "-01",
      "00-" + trace_hex + "-" + zeros.substr(16) + "-01",
      "00-0AF7651916CD43DD8448EB211C80319C-" + parent_hex + "-01",
      "00-" + trace_hex + "-B7AD6B7169203331-01",
      "00-" + trace_hex.substr(1) + "g-" + parent_hex + "-01",
      "00-" + trace_hex + "-" + parent_hex + "-0x",
      "0g-" + trace_hex + "-" + parent_hex + "-01",
      "00_" + trace_hex + "-" + parent_hex + "-01",
      "00-" + trace_hex + "_" + parent_hex + "-01",
      "00-" + trace_hex + "-" + parent_hex + "_01",
      " " + valid_parent,
      valid_parent + " ",
      "01-" + trace_hex + "-" + parent_hex + "-01x",
  };
  for (const std::string& text : broken) EXPECT_FALSE(parse_traceparent(text)) << text;
}

TEST(traceparent, of_a_later_version_is_read_as_far_as_it_is_known) {
  for (const char* const more : {"", "-", "-and-more"}) {
    const auto found = parse_traceparent("cc-" + trace_hex + "-" + parent_hex + "-01" + more);
    ASSERT_TRUE(found) << more;
    EXPECT_EQ(to_hex(found->trace), trace_hex);
    EXPECT_TRUE(found->sampled);
  }
}

TEST(tracestate, is_passed_on_in_its_order_without_what_means_nothing) {
  EXPECT_EQ(parse_tracestate("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(parse_tracestate(" a=1 ,, \tb@c=x y ,"), "a=1,b@c=x y");
  EXPECT_EQ(parse_tracestate(""), "");
  EXPECT_EQ(parse_tracestate(std::string("a=") + std::string(256, 'x')), "a=" + std::string(256, 'x'));
}

TEST(tracestate, that_breaks_a_rule_is_dropped_whole) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += "k" + std::to_string(i) + "=1,";
  const std::vector<std::string> broken = {
      "a",
      "=1",
      "a=",
      "A=1",
      "a=1,B=2",
      "a=1=2",
      "a=\x01",
      "a=\xc3\xa4",
      "a=" + std::string(257, 'x'),
      std::string(257, 'a') + "=1",
      "a=" + std::string(250, 'x') + ",b=" + std::string(250, 'x') + ",c=1234567890",
      many};
  for (const std::string& text : broken) EXPECT_EQ(parse_tracestate(text), "") << text;
  EXPECT_NE(parse_tracestate(many.substr(0, many.rfind("k32"))), "") << "32 are allowed";
}

TEST(tracestate, means_nothing_without_a_parent) {
  EXPECT_FALSE(read_trace_context("", "a=1"));
  EXPECT_EQ(read_trace_context(valid_parent, "a=1")->state, "a=1");
  EXPECT_EQ(read_trace_context(valid_parent, "broken")->state, "");
}

trace_id id_with(std::uint64_t low) {
  trace_id id{1};
  for (std::size_t i = 0; i < 8; ++i) id[15 - i] = static_cast<std::uint8_t>(low >> (8 * i));
  return id;
}

trace_sampling sampling_by(std::string_view name, std::string_view argument = "") {
  const auto parsed = parse_trace_sampling(name, argument);
  EXPECT_TRUE(parsed) << name;
  return parsed ? *parsed : trace_sampling{};
}

TEST(trace_sampling, does_as_the_caller_where_it_asks_it_and_else_by_its_own_rule) {
  const auto yes = parse_traceparent(valid_parent);
  const auto no = parse_traceparent("00-" + trace_hex + "-" + parent_hex + "-00");
  struct {
    std::string_view name;
    bool alone, caller_says_yes, caller_says_no;
  } const cases[] = {
      {"always_on", true, true, true},
      {"always_off", false, false, false},
      {"parentbased_always_on", true, true, false},
      {"parentbased_always_off", false, true, false},
      {"parentbased_traceidratio", true, true, false},
      {"traceidratio", true, true, true},
  };
  for (const auto& one : cases) {
    const trace_sampling rule = sampling_by(one.name);
    EXPECT_EQ(is_sampled(rule, std::nullopt, id_with(7)), one.alone) << one.name;
    EXPECT_EQ(is_sampled(rule, yes, yes->trace), one.caller_says_yes) << one.name;
    EXPECT_EQ(is_sampled(rule, no, no->trace), one.caller_says_no) << one.name;
  }
}

TEST(trace_sampling, takes_its_share_by_the_last_eight_bytes_of_the_trace) {
  const trace_sampling quarter = sampling_by("traceidratio", "0.25");
  EXPECT_TRUE(is_sampled(quarter, std::nullopt, id_with(0)));
  EXPECT_TRUE(is_sampled(quarter, std::nullopt, id_with(0x3fff000000000000)));
  EXPECT_FALSE(is_sampled(quarter, std::nullopt, id_with(0x4000000000000000)));
  EXPECT_FALSE(is_sampled(quarter, std::nullopt, id_with(~std::uint64_t{0})));
  EXPECT_FALSE(is_sampled(sampling_by("traceidratio", "0"), std::nullopt, id_with(0)));
  EXPECT_TRUE(is_sampled(sampling_by("traceidratio", "1"), std::nullopt, id_with(~std::uint64_t{0})));
}

TEST(trace_sampling, that_is_not_known_is_refused_by_name) {
  EXPECT_EQ(parse_trace_sampling("xray", "").error().param, "otel_traces_sampler");
  EXPECT_EQ(parse_trace_sampling("parentbased_jaeger", "").error().param, "otel_traces_sampler");
  for (const char* const share : {"half", "1.5", "-0.1", "0.5x", "nan"})
    EXPECT_FALSE(parse_trace_sampling("traceidratio", share)) << share;
  EXPECT_TRUE(parse_trace_sampling("always_on", "half")) << "asked of traceidratio alone";
}

}  // namespace
}  // namespace troupe
