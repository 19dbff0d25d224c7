// Whose pages browsers let use the API: Cross-Origin Resource Sharing (https://fetch.spec.whatwg.org/,
// "CORS protocol"). What is not allowed here a browser keeps from its page; others do not ask.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/net/http/http_message.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

// "https://chat.example,http://localhost:3000", "*", or nothing: as browsers write them, in small letters and
// without the port that goes without saying. Errors: invalid_argument that names the one that is no origin.
result<std::vector<std::string>> read_origins(std::string_view text);

// What the answer to a page of `origin` (the field of its request, empty where there is none) allows: that
// origin, "*", or nothing.
std::string allowed_origin(std::string_view origin, std::span<const std::string> allowed);

// Whether a page of `origin` is of the service itself, by the Host of its request.
bool is_own_origin(std::string_view origin, std::string_view host);

// What a browser is told that asks before it sends a request of a page that is allowed: the page may send
// whatever fields it wants to, `headers` (Access-Control-Request-Headers).
http_response answer_preflight(std::string_view headers);

}  // namespace troupe::net
