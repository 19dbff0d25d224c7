#include "runtime/telemetry/report_text.hpp"

#include <gtest/gtest.h>

#include "runtime/json/json.hpp"
#include "tests/runtime/telemetry/reports_fixture.hpp"

namespace troupe {
namespace {

using test::answered_report;
using test::moment;

request_report after_grammar() {
  request_report report = answered_report();
  report.grammar_wait = std::chrono::microseconds(1'500);
  return report;
}

TEST(report_text, tells_an_answered_request_with_all_its_times) {
  const std::string line =
      "request request_id=chatcmpl-job-1 client_request_id=job-1 number=12 gateway=http "
      "route=/v1/chat/completions model=m finish_reason=stop,length prompt_tokens=31 cached_tokens=16 "
      "completion_tokens=12 preemptions=1 accepted_drafts=4 grammar_ms=1.500 queue_ms=4.000 "
      "prefill_ms=30.000 decode_ms=75.000 ttft_ms=35.000 total_ms=120.000";
  EXPECT_EQ(report_line(after_grammar()), line);
}

TEST(report_text, tells_the_same_in_json_with_numbers_as_numbers) {
  const auto told = json::parse(report_json(after_grammar()));
  const auto expected = json::parse(R"({"request_id":"chatcmpl-job-1",
    "client_request_id":"job-1","number":12,"gateway":"http","route":"/v1/chat/completions","model":"m",
    "finish_reason":"stop,length","prompt_tokens":31,"cached_tokens":16,"completion_tokens":12,
    "preemptions":1,"accepted_drafts":4,"grammar_ms":1.5,"queue_ms":4.0,"prefill_ms":30.0,
    "decode_ms":75.0,"ttft_ms":35.0,"total_ms":120.0})");
  EXPECT_EQ(told, expected);
}

TEST(report_text, leaves_out_what_never_was) {
  request_report report;
  report.gateway = "http";
  report.failure = request_failure{400, "invalid_value", "temperature"};
  report.received = moment(1);
  report.ended = moment(3);
  EXPECT_EQ(report_line(report),
            "request gateway=http status=400 error_code=invalid_value error_param=temperature "
            "total_ms=2.000");
  EXPECT_EQ(report_json(report),
            R"({"gateway":"http","status":400,"error_code":"invalid_value","error_param":"temperature",)"
            R"("total_ms":2.000})");
  report.failure->param.clear();
  EXPECT_EQ(report_line(report), "request gateway=http status=400 error_code=invalid_value total_ms=2.000");
}

TEST(report_text, names_one_that_was_refused_by_what_its_client_was_told) {
  request_report report;
  report.refusal_id = "req-17";
  report.failure = request_failure{400, "invalid_value"};
  EXPECT_TRUE(report_line(report).starts_with("request request_id=req-17 status=400"));
  report.id = "tcp-1/1";
  EXPECT_TRUE(report_line(report).starts_with("request request_id=tcp-1/1 status=400"));
}

TEST(report_text, an_end_in_the_queue_has_no_later_times) {
  request_report report = answered_report();
  report.times = {moment(1'001), {}, {}, {}};
  report.reasons = {finish_reason::timeout};
  const std::string line = report_line(report);
  EXPECT_NE(line.find("finish_reason=timeout"), std::string::npos);
  EXPECT_EQ(line.find("delivered"), std::string::npos);
  report.given_up = true;
  EXPECT_NE(report_line(report).find("finish_reason=timeout delivered=no"), std::string::npos);
  EXPECT_EQ(line.find("grammar_ms"), std::string::npos);
  EXPECT_EQ(line.find("queue_ms"), std::string::npos);
  EXPECT_EQ(line.find("ttft_ms"), std::string::npos);
}

TEST(report_text, quotes_a_value_that_would_break_the_line) {
  request_report report = answered_report();
  report.model = "a model=\"b\"\nrequest";
  EXPECT_NE(report_line(report).find(R"( model="a model=\"b\"\nrequest" )"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(report_json(report))["model"], report.model);
}

TEST(request_report, has_failed_where_it_was_refused_or_ended_by_an_error_or_its_time) {
  request_report report = answered_report();
  EXPECT_FALSE(has_failed(report));
  report.reasons[1] = finish_reason::timeout;
  EXPECT_TRUE(has_failed(report));
  report.reasons[1] = finish_reason::abort;
  EXPECT_FALSE(has_failed(report));
  report.failure = failure_of({error_code::internal, "a fault"});
  EXPECT_TRUE(has_failed(report));
  EXPECT_EQ(report.failure->status, 500);
}

TEST(request_report, names_no_member_of_the_clients_own_schema) {
  EXPECT_EQ(failure_of({error_code::invalid_argument, "", "temperature"}).param, "temperature");
  EXPECT_EQ(failure_of({error_code::invalid_argument, "", "/properties/secret/$ref"}).param, "grammar");
}

}  // namespace
}  // namespace troupe
