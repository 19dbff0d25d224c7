#include "runtime/telemetry/request_spans.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/runtime/telemetry/reports_fixture.hpp"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::answered_report;

constexpr nanoseconds epoch{1'000'000'000'000};

std::int64_t unix_at(int ms) { return (nanoseconds(milliseconds(ms)) + epoch).count(); }

trace_spans spans_of_report(const request_report& report) {
  std::uint64_t last = 0;
  return spans_of(report, trace_id{1, 2, 3}, epoch, [&last] { return last++; });
}

const attribute_value* find(const trace_span& span, std::string_view name) {
  const auto found = std::ranges::find(span.attributes, name, [](const auto& each) { return each.first; });
  return found == span.attributes.end() ? nullptr : &found->second;
}

template <class T>
void expect_attribute(const trace_span& span, std::string_view name, const T& value) {
  const attribute_value* const found = find(span, name);
  ASSERT_NE(found, nullptr) << name;
  ASSERT_TRUE(std::holds_alternative<T>(*found)) << name;
  EXPECT_EQ(std::get<T>(*found), value) << name;
}

TEST(request_spans, are_one_for_the_request_and_one_below_it_for_each_phase) {
  const trace_spans all = spans_of_report(answered_report());
  ASSERT_EQ(all.spans.size(), 4U);
  EXPECT_EQ(all.trace, (trace_id{1, 2, 3}));
  const trace_span& whole = all.spans[0];
  EXPECT_EQ(whole.name, "llm_request");
  EXPECT_EQ(whole.kind, span_kind::server);
  EXPECT_FALSE(whole.parent);
  EXPECT_FALSE(whole.failed);
  EXPECT_EQ(whole.begin, unix_at(1'000));
  EXPECT_EQ(whole.end, unix_at(1'120));
  struct {
    std::string_view name;
    int begin, end;
  } const phases[] = {{"queue", 1'001, 1'005}, {"prefill", 1'005, 1'035}, {"decode", 1'035, 1'110}};
  for (std::size_t i = 0; i < 3; ++i) {
    const trace_span& span = all.spans[i + 1];
    EXPECT_EQ(span.name, phases[i].name);
    EXPECT_EQ(span.kind, span_kind::internal);
    EXPECT_EQ(span.parent, whole.id);
    EXPECT_EQ(span.begin, unix_at(phases[i].begin));
    EXPECT_EQ(span.end, unix_at(phases[i].end));
  }
  std::set<span_id> ids;
  for (const trace_span& span : all.spans) ids.insert(span.id);
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_FALSE(ids.contains(span_id{})) << "the source began with zeros";
}

TEST(request_spans, bear_the_names_that_the_field_has_for_them) {
  const trace_span whole = spans_of_report(answered_report()).spans[0];
  expect_attribute<std::string>(whole, "gen_ai.operation.name", "chat");
  expect_attribute<std::string>(whole, "gen_ai.request.model", "m");
  expect_attribute<std::string>(whole, "gen_ai.response.model", "m");
  expect_attribute<std::string>(whole, "gen_ai.request.id", "chatcmpl-job-1");
  expect_attribute<std::string>(whole, "gen_ai.response.id", "chatcmpl-job-1");
  expect_attribute<std::int64_t>(whole, "gen_ai.request.max_tokens", 64);
  expect_attribute<std::int64_t>(whole, "gen_ai.request.n", 2);
  expect_attribute<double>(whole, "gen_ai.request.temperature", 0.5);
  expect_attribute<double>(whole, "gen_ai.request.top_p", 0.75);
  expect_attribute<std::vector<std::string>>(whole, "gen_ai.response.finish_reasons", {"stop", "length"});
  expect_attribute<std::int64_t>(whole, "gen_ai.usage.input_tokens", 31);
  expect_attribute<std::int64_t>(whole, "gen_ai.usage.prompt_tokens", 31);
  expect_attribute<std::int64_t>(whole, "gen_ai.usage.output_tokens", 12);
  expect_attribute<std::int64_t>(whole, "gen_ai.usage.completion_tokens", 12);
  expect_attribute<double>(whole, "gen_ai.latency.time_in_queue", 0.004);
  expect_attribute<double>(whole, "gen_ai.latency.time_to_first_token", 0.035);
  expect_attribute<double>(whole, "gen_ai.latency.time_in_model_prefill", 0.030);
  expect_attribute<double>(whole, "gen_ai.latency.time_in_model_decode", 0.075);
  expect_attribute<double>(whole, "gen_ai.latency.e2e", 0.120);
  EXPECT_EQ(find(whole, "error.type"), nullptr);
}

TEST(request_spans, of_a_grammar_lie_below_the_queue) {
  request_report report = answered_report();
  report.grammar_wait = milliseconds(3);
  const auto all = spans_of_report(report).spans;
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[2].name, "grammar");
  EXPECT_EQ(all[2].parent, all[1].id);
  EXPECT_EQ(all[2].begin, unix_at(1'001));
  EXPECT_EQ(all[2].end, unix_at(1'004));
  EXPECT_EQ(all[3].name, "prefill");
  EXPECT_EQ(all[3].parent, all[0].id);
}

TEST(request_spans, belong_to_the_span_of_their_caller) {
  request_report report = answered_report();
  report.caller = read_trace_context("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=1");
  const trace_spans all = spans_of_report(report);
  EXPECT_EQ(to_hex(all.spans[0].parent.value()), "b7ad6b7169203331");
  EXPECT_EQ(all.spans[1].parent, all.spans[0].id);
  EXPECT_EQ(all.state, "a=1");
}

TEST(request_spans, end_with_the_request_wherever_it_was) {
  request_report report = answered_report();
  report.times.last_token.reset();
  report.times.first_token.reset();
  auto all = spans_of_report(report).spans;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].name, "prefill");
  EXPECT_EQ(all[2].end, unix_at(1'120));
  report.times.scheduled.reset();
  all = spans_of_report(report).spans;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "queue");
  EXPECT_EQ(all[1].end, unix_at(1'120));
  report.times = {};
  EXPECT_EQ(spans_of_report(report).spans.size(), 1U) << "refused before it came to the engine";
}

TEST(request_spans, of_one_that_was_given_up_are_those_whose_times_are_known) {
  request_report report = answered_report();
  report.times.scheduled.reset();
  const auto all = spans_of_report(report).spans;
  ASSERT_EQ(all.size(), 2U) << "it had tokens: that it waited to its end would be untrue";
  EXPECT_EQ(all[1].name, "decode");
  EXPECT_EQ(find(all[0], "gen_ai.latency.time_in_queue"), nullptr);
}

// The first token is known of one answer, and the first step of another.
TEST(request_spans, last_no_time_at_all_rather_than_less) {
  request_report report = answered_report();
  report.times.scheduled = *report.times.first_token + milliseconds(5);
  const auto all = spans_of_report(report).spans;
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[2].name, "prefill");
  EXPECT_EQ(all[2].begin, all[2].end);
  EXPECT_EQ(find(all[0], "gen_ai.latency.time_in_model_prefill"), nullptr);
}

TEST(request_spans, are_as_many_as_is_said_before) {
  request_report report = answered_report();
  EXPECT_EQ(count_spans(report), spans_of_report(report).spans.size());
  report.grammar_wait = milliseconds(3);
  EXPECT_EQ(count_spans(report), spans_of_report(report).spans.size());
  report.times = {};
  EXPECT_EQ(count_spans(report), spans_of_report(report).spans.size());
}

TEST(request_spans, name_a_failure_and_are_errors_where_it_was_not_the_clients) {
  request_report report = answered_report();
  report.failure = failure_of({error_code::invalid_argument, "near 'secret'", "temperature"});
  trace_span whole = spans_of_report(report).spans[0];
  expect_attribute<std::string>(whole, "error.type", "invalid_value");
  expect_attribute<std::int64_t>(whole, "http.response.status_code", 400);
  EXPECT_FALSE(whole.failed);
  report.failure = failure_of({error_code::unavailable, "gone"});
  EXPECT_TRUE(spans_of_report(report).spans[0].failed);
  report.failure.reset();
  report.reasons = {finish_reason::timeout};
  EXPECT_TRUE(spans_of_report(report).spans[0].failed);
  report.reasons = {finish_reason::abort};
  EXPECT_FALSE(spans_of_report(report).spans[0].failed);
}

TEST(trace_ids, are_drawn_from_all_bits_and_never_zero) {
  std::uint64_t last = 0x0807060504030201;
  EXPECT_EQ(to_hex(draw_trace_id([&last] { return last++; })), "01020304050607080202030405060708");
  int calls = 0;
  EXPECT_NE(draw_trace_id([&calls] { return std::uint64_t(calls++ < 3 ? 0 : calls); }), trace_id{});
}

}  // namespace
}  // namespace troupe
