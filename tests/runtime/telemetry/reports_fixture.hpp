// A request that was answered, as its report tells it.
#pragma once
#include <chrono>

#include "runtime/telemetry/request_report.hpp"

namespace troupe::test {

inline steady_time moment(int milliseconds) { return steady_time(std::chrono::milliseconds(milliseconds)); }

// Came at 1000 ms and took 120: 4 in the queue, 30 to its first token, 75 to its last.
inline request_report answered_report() {
  request_report report;
  report.id = "chatcmpl-job-1";
  report.client_id = "job-1";
  report.number = 12;
  report.gateway = "http";
  report.route = "/v1/chat/completions";
  report.model = "m";
  report.wishes = request_wishes{true, 2, 64, 0.5F, 0.75F};
  report.reasons = {finish_reason::stop, finish_reason::length};
  report.tokens = {31, 12, 16};
  report.preemptions = 1;
  report.accepted_drafts = 4;
  report.received = moment(1'000);
  report.times = {moment(1'001), moment(1'005), moment(1'035), moment(1'110)};
  report.ended = moment(1'120);
  return report;
}

}  // namespace troupe::test
