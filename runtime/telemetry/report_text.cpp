#include "runtime/telemetry/report_text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "runtime/json/json_writer.hpp"

namespace troupe {
namespace {

class line_fields {
 public:
  void text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    begin(name);
    if (value.find_first_of(" \"=\\\n\t") == std::string_view::npos) {
      out += value;
    } else {
      append_json_string(out, value);
    }
  }
  void integer(std::string_view name, std::int64_t value) {
    begin(name);
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
  void milliseconds(std::string_view name, std::chrono::nanoseconds value) {
    begin(name);
    fmt::format_to(std::back_inserter(out), "{:.3f}", static_cast<double>(value.count()) / 1e6);
  }
  std::string out = "request";

 private:
  void begin(std::string_view name) {
    out += ' ';
    out += name;
    out += '=';
  }
};

class json_fields {
 public:
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) writer_.key(name).string(value);
  }
  void integer(std::string_view name, std::int64_t value) { writer_.key(name).integer(value); }
  void milliseconds(std::string_view name, std::chrono::nanoseconds value) {
    writer_.key(name);
    fmt::format_to(std::back_inserter(out), "{:.3f}", static_cast<double>(value.count()) / 1e6);
  }
  std::string finish() && {
    writer_.end_object();
    return std::move(out);
  }

 private:
  std::string out;
  json_writer writer_ = json_writer(out).begin_object();
};

std::string joined(const std::vector<finish_reason>& reasons) {
  std::string all;
  for (const finish_reason reason : reasons) {
    all += all.empty() ? "" : ",";
    all += to_string(reason);
  }
  return all;
}

template <class Fields>
void add_names(Fields& fields, const request_report& report) {
  fields.text("request_id", report.id.empty() ? report.refusal_id : report.id);
  fields.text("client_request_id", report.client_id);
  if (report.number != 0) fields.integer("number", static_cast<std::int64_t>(report.number));
  if (report.caller) fields.text("trace_id", to_hex(report.caller->trace));
  fields.text("gateway", report.gateway);
  fields.text("route", report.route);
  fields.text("model", report.model);
}

template <class Fields>
void add_outcome(Fields& fields, const request_report& report) {
  if (report.failure) {
    fields.integer("status", report.failure->status);
    fields.text("error_code", report.failure->code);
    fields.text("error_param", report.failure->param);
  }
  if (report.reasons.empty()) return;
  fields.text("finish_reason", joined(report.reasons));
  if (report.given_up) fields.text("delivered", "no");
  fields.integer("prompt_tokens", report.tokens.prompt_tokens);
  fields.integer("cached_tokens", report.tokens.cached_tokens);
  fields.integer("completion_tokens", report.tokens.completion_tokens);
  fields.integer("preemptions", report.preemptions);
  fields.integer("accepted_drafts", report.accepted_drafts);
}

template <class Fields>
void add_times(Fields& fields, const request_report& report) {
  const request_durations spent = durations_of(report);
  if (report.grammar_wait.count() > 0) fields.milliseconds("grammar_ms", report.grammar_wait);
  if (spent.queue) fields.milliseconds("queue_ms", *spent.queue);
  if (spent.prefill) fields.milliseconds("prefill_ms", *spent.prefill);
  if (spent.decode) fields.milliseconds("decode_ms", *spent.decode);
  if (spent.first_token) fields.milliseconds("ttft_ms", *spent.first_token);
  fields.milliseconds("total_ms", spent.total);
}

template <class Fields>
void add_all(Fields& fields, const request_report& report) {
  add_names(fields, report);
  add_outcome(fields, report);
  add_times(fields, report);
}

}  // namespace

std::string report_line(const request_report& report) {
  line_fields fields;
  add_all(fields, report);
  return std::move(fields.out);
}

std::string report_json(const request_report& report) {
  json_fields fields;
  add_all(fields, report);
  return std::move(fields).finish();
}

}  // namespace troupe
