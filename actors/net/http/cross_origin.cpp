#include "actors/net/http/cross_origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/without_blanks.hpp"

namespace troupe::net {
namespace {

constexpr std::string_view all = "*";

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

// A scheme, a host, perhaps a port; pages of files and sandboxes are of the origin "null".
bool is_origin(std::string_view text) {
  if (text == "null") return true;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0 || !is_visible(text)) return false;
  const std::string_view host = text.substr(scheme + 3);
  if (host.empty() || host.find_first_of("/?#@*\\") != std::string_view::npos) return false;
  const std::size_t port = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (port == std::string_view::npos) return true;
  const std::string_view digits = host.substr(port + 1);
  return port > 0 && !digits.empty() && digits.size() <= 5 &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

std::string as_browsers_write(std::string_view text) {
  std::string origin(text);
  for (char& c : origin) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto& [scheme, port] : {std::pair("https://", ":443"), std::pair("http://", ":80")})
    if (origin.starts_with(scheme) && origin.ends_with(port))
      origin.resize(origin.size() - std::string_view(port).size());
  return origin;
}

}  // namespace

result<std::vector<std::string>> read_origins(std::string_view text) {
  std::vector<std::string> origins;
  while (!without_blanks(text).empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::string_view origin = without_blanks(one);
    if (origin != all && !is_origin(origin))
      return fail(error_code::invalid_argument,
                  fmt::format("'{}' is no origin: one is a scheme and a host, such as https://chat.example, "
                              "or * alone for all",
                              origin));
    origins.push_back(as_browsers_write(origin));
  }
  if (origins.size() > 1 && std::ranges::find(origins, all) != origins.end())
    return fail(error_code::invalid_argument, "* is all origins: it stands alone");
  return origins;
}

std::string allowed_origin(std::string_view origin, std::span<const std::string> allowed) {
  if (origin.empty()) return {};
  for (const std::string& each : allowed)
    if (each == all || each == origin) return each;
  return {};
}

bool is_own_origin(std::string_view origin, std::string_view host) {
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && !host.empty() && origin.substr(scheme + 3) == host;
}

http_response answer_preflight(std::string_view headers) {
  http_response response{.content_type = ""};
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST");
  if (!headers.empty()) response.headers.emplace_back("Access-Control-Allow-Headers", headers);
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace troupe::net
