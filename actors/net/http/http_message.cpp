#include "actors/net/http/http_message.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iterator>

#include "runtime/openai/error_body.hpp"

namespace troupe::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

// RFC 9110, 5.6.7: IMF-fixdate.
std::string http_date() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(now));
}

const char* error_code_of(int status) {
  switch (status) {
    case http_unauthorized:
      return "invalid_api_key";
    case 403:
      return "origin_not_allowed";
    case 405:
      return "method_not_allowed";
    case 408:
      return "request_timeout";
    case 415:
      return "unsupported_media_type";
    case 417:
      return "expectation_failed";
    case 431:
      return "header_too_large";
    case 505:
      return "version_not_supported";
    default:
      return "bad_request";
  }
}

}  // namespace

http_response error_response(const error& failure) {
  http_response response{openai::http_status(failure.code)};
  response.body = openai::error_body(failure);
  response.failure = failure_of(failure);
  if (const auto seconds = openai::retry_after(failure))
    response.headers.emplace_back("Retry-After", std::to_string(*seconds));
  return response;
}

http_response error_response(int status, std::string message) {
  http_response response{status};
  response.failure = request_failure{status, error_code_of(status)};
  json_writer out(response.body);
  out.begin_object().key("error").begin_object().key("message").string(message);
  out.key("type").string("invalid_request_error").key("param").null();
  out.key("code").string(error_code_of(status)).end_object().end_object();
  return response;
}

std::string draw_name(std::string_view prefix, std::mt19937_64& random) {
  const std::uint64_t high = random();
  const std::uint64_t low = random();
  return fmt::format("{}{:016x}{:016x}", prefix, high, low);
}

std::string response_head(const http_response& response, std::string_view length_field,
                          const request_line& request) {
  const auto status = static_cast<boost::beast::http::status>(response.status);
  std::string head;
  auto out = std::back_inserter(head);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nServer: troupe\r\nDate: {}\r\n", response.status,
                 std::string_view(boost::beast::http::obsolete_reason(status)), http_date());
  if (!response.content_type.empty()) fmt::format_to(out, "Content-Type: {}\r\n", response.content_type);
  for (const auto& [name, value] : response.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (!request.id.empty()) fmt::format_to(out, "X-Request-Id: {}\r\n", request.id);
  if (!request.allowed_origin.empty())
    fmt::format_to(out, "Access-Control-Allow-Origin: {}\r\nAccess-Control-Expose-Headers: {}\r\n",
                   request.allowed_origin, "X-Request-Id, Retry-After");
  if (request.varies_by_origin) head += "Vary: Origin\r\n";
  if (!length_field.empty()) fmt::format_to(out, "{}\r\n", length_field);
  if (!request.keep_alive) {
    head += "Connection: close\r\n";
  } else if (request.version == 10) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  return head;
}

std::string serialize(const http_response& response, const request_line& request) {
  const std::string length = fmt::format("Content-Length: {}", response.body.size());
  std::string text = response_head(response, length, request);
  if (request.method != http_method::head) text += response.body;
  return text;
}

std::string_view request_name_in(std::string_view lines) {
  constexpr std::string_view name = "X-Request-Id:";
  constexpr std::string_view blanks = " \t";
  while (!lines.empty() && lines.front() != '\r') {
    std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(std::min(lines.size(), line.size() + 2));
    if (!boost::beast::iequals(line.substr(0, name.size()), name)) continue;
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(blanks, name.size())));
    return line.substr(0, line.find_last_not_of(blanks) + 1);
  }
  return {};
}

std::optional<std::string_view> bearer_key(std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer ";
  if (!boost::beast::iequals(authorization.substr(0, scheme.size()), scheme)) return std::nullopt;
  std::string_view key = authorization.substr(scheme.size());
  while (key.starts_with(' ')) key.remove_prefix(1);
  return key;
}

std::string target_path(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  if (const auto scheme = target.find("://"); !target.starts_with('/') && scheme != std::string_view::npos) {
    const auto path = target.find('/', scheme + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  return percent_decode(target);
}

void append_chunk(std::string& out, std::string_view data) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out += data;
  out += "\r\n";
}

}  // namespace troupe::net
