// Requests and answers of HTTP/1.x as this server uses them (RFC 9110, RFC 9112).
#pragma once
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/telemetry/request_report.hpp"
#include "runtime/telemetry/trace_context.hpp"

namespace troupe::net {

enum class http_method { get, head, post, other };

// What the header of a request says, reduced to what is needed to answer it.
struct request_line {
  http_method method = http_method::other;
  std::string verb = {};  // the method's own name
  std::string path;       // without query, percent-decoded
  unsigned version = 11;  // 10 or 11
  bool keep_alive = true;
  std::string tenant = {};      // X-Tenant
  std::string request_id = {};  // X-Request-Id; empty where it is no name that this server takes
  // X-Request-Id of the answer: the client's own, else the one in the log. Empty: not known yet.
  std::string id = {};
  std::optional<trace_context> caller = {};  // traceparent and tracestate
  std::string allowed_origin = {};           // whose page may read the answer (cross_origin.hpp); empty: none
  bool varies_by_origin = false;             // others are told another one
};

struct http_response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string_view, std::string>> headers = {};
  std::optional<request_failure> failure = {};  // of an error, for the log
};

inline constexpr int http_unauthorized = 401;  // who have no key

// An error as its JSON body, with Retry-After where trying again helps.
http_response error_response(const error& failure);
// The same for what HTTP itself refuses: 405, 408, 415, 417, 431, 505, ...
http_response error_response(int status, std::string message);

// The name of an answer, a prefix such as "chatcmpl-" and 32 digits: told apart from all others by it, and no
// secret.
std::string draw_name(std::string_view prefix, std::mt19937_64& random);

// Status line and header fields, up to and with the empty line. `length_field` is "Content-Length: 12" or
// "Transfer-Encoding: chunked", or empty where the end of the connection ends the body.
std::string response_head(const http_response& response, std::string_view length_field,
                          const request_line& request);
// Head and body; the body is left out for HEAD.
std::string serialize(const http_response& response, const request_line& request);

// The key of an Authorization field, "Bearer KEY"; nothing where it is another one.
std::optional<std::string_view> bearer_key(std::string_view authorization);

// The path of a request target: query and fragment cut, scheme and host of the absolute form too,
// percent-decoded.
std::string target_path(std::string_view target);

// The value of X-Request-Id among the lines of a header, of which more may follow that has not come, or
// cannot be read; empty where there is none. Of `lines`.
std::string_view request_name_in(std::string_view lines);

// Appends `data` as one chunk of a chunked body.
void append_chunk(std::string& out, std::string_view data);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace troupe::net
