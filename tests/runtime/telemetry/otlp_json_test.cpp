#include "runtime/telemetry/otlp_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace troupe {
namespace {

const trace_resource test_resource{"my \"service\"", "1.2"};

trace_spans one_trace() {
  trace_span whole{"llm_request", span_kind::server, span_id{0xab}};
  whole.parent = span_id{0xcd};
  whole.begin = 1'700'000'000'123'456'789;
  whole.end = 1'700'000'001'000'000'000;
  whole.failed = true;
  whole.attributes = {{"text", std::string("a\"b")},
                      {"number", std::int64_t{-3}},
                      {"ratio", 0.25},
                      {"list", std::vector<std::string>{"stop", "length"}}};
  trace_span part{"queue", span_kind::internal, span_id{0xef}};
  return {trace_id{1, 2}, "a=1", {whole, part}};
}

TEST(otlp_json, is_what_the_specification_says) {
  const auto json = nlohmann::json::parse(otlp_json({one_trace()}, test_resource));
  const auto expected = nlohmann::json::parse(R"({"resourceSpans":[{
    "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"my \"service\""}},
                              {"key":"service.version","value":{"stringValue":"1.2"}}]},
    "scopeSpans":[{"scope":{"name":"troupe","version":"1.2"},"spans":[
      {"traceId":"01020000000000000000000000000000","spanId":"ab00000000000000","traceState":"a=1",
       "parentSpanId":"cd00000000000000","flags":1,"name":"llm_request","kind":2,
       "startTimeUnixNano":"1700000000123456789","endTimeUnixNano":"1700000001000000000",
       "attributes":[{"key":"text","value":{"stringValue":"a\"b"}},
                     {"key":"number","value":{"intValue":"-3"}},
                     {"key":"ratio","value":{"doubleValue":0.25}},
                     {"key":"list","value":{"arrayValue":{"values":[{"stringValue":"stop"},
                                                                   {"stringValue":"length"}]}}}],
       "status":{"code":2}},
      {"traceId":"01020000000000000000000000000000","spanId":"ef00000000000000","traceState":"a=1",
       "flags":1,"name":"queue","kind":1,"startTimeUnixNano":"0","endTimeUnixNano":"0","attributes":[]}
    ]}]}]})");
  EXPECT_EQ(json, expected);
}

TEST(otlp_json, holds_several_traces_under_one_resource) {
  const auto json = nlohmann::json::parse(otlp_json({one_trace(), one_trace()}, test_resource));
  EXPECT_EQ(json["resourceSpans"].size(), 1U);
  EXPECT_EQ(json["resourceSpans"][0]["scopeSpans"][0]["spans"].size(), 4U);
}

TEST(otlp_json, reads_how_many_spans_a_collector_did_not_take) {
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}})"), 3U);
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":4}})"), 4U);
  for (const char* none :
       {"", "{}", "not json", "[]", R"({"partialSuccess":null})", R"({"partialSuccess":{}})",
        R"({"partialSuccess":{"rejectedSpans":"many"}})", R"({"partialSuccess":{"rejectedSpans":-1}})"})
    EXPECT_EQ(rejected_spans(none), 0U) << none;
}

}  // namespace
}  // namespace troupe
