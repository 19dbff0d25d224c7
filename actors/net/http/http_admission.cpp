// What http_connection lets in, by the header alone: who asks, from where, and for what.
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "actors/net/http/content_type.hpp"
#include "actors/net/http/cross_origin.hpp"
#include "actors/net/http/http_connection.hpp"
#include "actors/net/keys_in_force.hpp"

namespace troupe::net {

namespace http = boost::beast::http;

namespace {

using header_fields = http::request<growing_body>;

std::string text_of(const header_fields& header, const char* name) {
  const auto value = header[name];
  return std::string(value.data(), value.size());
}

// A list in several fields is one; two parents are none.
std::optional<trace_context> caller_of(const header_fields& header) {
  const auto parents = header.equal_range("traceparent");
  if (std::distance(parents.first, parents.second) != 1) return std::nullopt;
  std::string state;
  const auto states = header.equal_range("tracestate");
  for (auto each = states.first; each != states.second; ++each) {
    if (!state.empty()) state += ',';
    state.append(each->value().data(), each->value().size());
  }
  const auto parent = parents.first->value();
  return read_trace_context({parent.data(), parent.size()}, state);
}

// Browsers send such a request of any page without asking first. One of JSON they ask for.
bool needs_no_preflight(const header_fields& header) { return !names_json(text_of(header, "Content-Type")); }

}  // namespace

std::optional<std::chrono::steady_clock::time_point> http_connection::unauthenticated_since() const {
  const bool is_needed = !is_authorized(shared_->options.keys.get(), "");
  if (is_known_ || !is_needed) return std::nullopt;
  return connected_;
}

void http_connection::note_header(const request_header& header) {
  request_.tenant = text_of(header, "X-Tenant");
  request_.caller = caller_of(header);
  const std::vector<std::string>& origins = shared_->options.cors_origins;
  request_.allowed_origin = allowed_origin(text_of(header, "Origin"), origins);
  request_.varies_by_origin = !origins.empty() && origins.front() != "*";
}

std::optional<http_response> http_connection::answer_header(const std::optional<route>& found,
                                                            request_parser& parser) {
  const request_header& header = parser.get();
  if (request_.verb == "OPTIONS" && !request_.allowed_origin.empty() &&
      header.count("Access-Control-Request-Method") > 0)
    return answer_preflight(text_of(header, "Access-Control-Request-Headers"));
  if (auto refusal = refuse_unauthorized(found, header)) return refusal;
  if (auto refusal = refuse_route(found, request_)) return refusal;
  if (auto refusal = refuse_page(*found, header)) return refusal;
  return takes_body(found->target) ? refuse_fields(header) : refuse_body(parser);
}

// A key of a connection is each request's own.
std::optional<http_response> http_connection::refuse_unauthorized(const std::optional<route>& found,
                                                                  const request_header& header) {
  const std::string authorization = text_of(header, "Authorization");
  const bool has_one_key = header.count(http::field::authorization) == 1;
  const auto key = has_one_key ? bearer_key(authorization) : std::nullopt;
  is_known_ = is_authorized(shared_->options.keys.get(), key.value_or(""));
  if (is_known_ || (found && is_open(found->target))) return std::nullopt;
  shared_->strangers.add(socket_);
  request_.keep_alive = false;
  http_response response =
      error_response({error_code::unauthenticated, key ? "this is no key of a client"
                                                       : "a key is needed: send one as \"Authorization: "
                                                         "Bearer KEY\""});
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"troupe\"");
  return response;
}

// What a page of another origin has sent without its browser asking whether it may.
std::optional<http_response> http_connection::refuse_page(const route& found,
                                                          const request_header& header) const {
  const std::string origin = text_of(header, "Origin");
  const bool is_foreign =
      !origin.empty() && request_.allowed_origin.empty() && !is_own_origin(origin, text_of(header, "Host"));
  if (!is_foreign || !takes_post(found.target) || !needs_no_preflight(header)) return std::nullopt;
  return error_response(403, "pages of this origin may not use the API: --cors-origins does not name it");
}

// Nobody needs one here: what comes all the same is dropped, and must be small.
std::optional<http_response> http_connection::refuse_body(request_parser& parser) {
  constexpr std::uint64_t most_bytes = 64U << 10U;
  parser.body_limit(most_bytes);
  const auto announced = parser.content_length();
  if (!announced || *announced <= most_bytes) return std::nullopt;
  return error_response({error_code::too_large, "this route takes no body"});
}

}  // namespace troupe::net
