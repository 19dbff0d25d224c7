#include "runtime/openai/error_body.hpp"

#include <algorithm>

namespace troupe::openai {
namespace {

struct wire_error {
  int status;
  const char* type;
  const char* code;
};

wire_error describe(error_code code) {
  switch (code) {
    case error_code::invalid_argument:
    case error_code::unsupported:
      return {400, "invalid_request_error", "invalid_value"};
    case error_code::context_length_exceeded:
      return {400, "invalid_request_error", "context_length_exceeded"};
    case error_code::unauthenticated:
      return {401, "invalid_request_error", "invalid_api_key"};
    case error_code::not_found:
      return {404, "invalid_request_error", "not_found"};
    case error_code::too_large:
      return {413, "invalid_request_error", "too_large"};
    case error_code::resource_exhausted:
      return {429, "rate_limit_error", "rate_limit_exceeded"};
    case error_code::unavailable:
      return {503, "service_unavailable_error", "unavailable"};
    case error_code::corrupt_file:
    case error_code::io_error:
    case error_code::internal:
      break;
  }
  return {500, "internal_error", "internal_error"};
}

}  // namespace

int http_status(error_code code) { return describe(code).status; }

const char* error_word(const error& failure) {
  const bool unknown_model = failure.code == error_code::not_found && failure.param == "model";
  return unknown_model ? "model_not_found" : describe(failure.code).code;
}

std::optional<std::int32_t> retry_after(const error& failure) {
  if (failure.code != error_code::resource_exhausted && failure.code != error_code::unavailable)
    return std::nullopt;
  return std::max(1, failure.retry_after);
}

void write_error(json_writer& out, const error& failure) {
  const wire_error words = describe(failure.code);
  out.begin_object().key("message").string(failure.message).key("type").string(words.type).key("param");
  if (failure.param.empty()) {
    out.null();
  } else {
    out.string(failure.param);
  }
  out.key("code").string(error_word(failure));
  if (const auto seconds = retry_after(failure)) out.key("retry_after").integer(*seconds);
  out.end_object();
}

std::string error_body(const error& failure) {
  std::string body;
  json_writer out(body);
  out.begin_object().key("error");
  write_error(out, failure);
  out.end_object();
  return body;
}

}  // namespace troupe::openai
