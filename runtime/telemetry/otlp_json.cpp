#include "runtime/telemetry/otlp_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "runtime/json/json.hpp"
#include "runtime/json/json_writer.hpp"

namespace troupe {
namespace {

class otlp_writer {
 public:
  std::string write(const std::vector<trace_spans>& traces, const trace_resource& resource) && {
    out_.begin_object().key("resourceSpans").begin_array().begin_object();
    out_.key("resource").begin_object();
    add_attributes({{"service.name", resource.service_name}, {"service.version", resource.version}});
    out_.end_object().key("scopeSpans").begin_array().begin_object();
    out_.key("scope").begin_object().key("name").string("troupe").key("version").string(resource.version);
    out_.end_object().key("spans").begin_array();
    for (const trace_spans& trace : traces)
      for (const trace_span& span : trace.spans) add_span(trace, span);
    out_.end_array().end_object().end_array().end_object().end_array().end_object();
    return std::move(text_);
  }

 private:
  void add_span(const trace_spans& trace, const trace_span& span) {
    out_.begin_object().key("traceId").string(to_hex(trace.trace)).key("spanId").string(to_hex(span.id));
    if (!trace.state.empty()) out_.key("traceState").string(trace.state);
    if (span.parent) out_.key("parentSpanId").string(to_hex(*span.parent));
    out_.key("flags").integer(1);  // sampled, or it would not be here
    out_.key("name").string(span.name).key("kind").integer(static_cast<int>(span.kind));
    out_.key("startTimeUnixNano").string(std::to_string(span.begin));
    out_.key("endTimeUnixNano").string(std::to_string(span.end));
    add_attributes(span.attributes);
    if (span.failed) out_.key("status").begin_object().key("code").integer(2).end_object();
    out_.end_object();
  }

  void add_attributes(const span_attributes& attributes) {
    out_.key("attributes").begin_array();
    for (const auto& [key, value] : attributes) {
      out_.begin_object().key("key").string(key).key("value").begin_object();
      std::visit([this](const auto& held) { add_value(held); }, value);
      out_.end_object().end_object();
    }
    out_.end_array();
  }

  void add_value(std::int64_t value) { out_.key("intValue").string(std::to_string(value)); }
  void add_value(double value) {
    out_.key("doubleValue");
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void add_value(const std::string& value) { out_.key("stringValue").string(value); }
  void add_value(const std::vector<std::string>& values) {
    out_.key("arrayValue").begin_object().key("values").begin_array();
    for (const std::string& value : values) out_.begin_object().key("stringValue").string(value).end_object();
    out_.end_array().end_object();
  }

  std::string text_;
  json_writer out_{text_};
};

}  // namespace

std::string otlp_json(const std::vector<trace_spans>& traces, const trace_resource& resource) {
  return otlp_writer().write(traces, resource);
}

std::uint64_t rejected_spans(std::string_view answer) {
  const auto document = json::parse(answer, nullptr, false);
  if (!document.is_object()) return 0;
  const auto partial = document.find("partialSuccess");
  if (partial == document.end() || !partial->is_object()) return 0;
  const auto count = partial->find("rejectedSpans");
  if (count == partial->end()) return 0;
  if (count->is_number_unsigned()) return count->get<std::uint64_t>();
  if (!count->is_string()) return 0;
  const std::string& text = count->get_ref<const std::string&>();
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace troupe
