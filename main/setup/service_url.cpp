#include "main/setup/service_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace troupe {
namespace {

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), port);
  return fault == std::errc() && end == text.data() + text.size() && port > 0;
}

}  // namespace

result<service_url> parse_url(std::string_view text) {
  const auto wrong = [whole = std::string(text)] {
    return fail(error_code::invalid_argument,
                fmt::format("'{}' is no address like http://127.0.0.1:8000", whole), "url");
  };
  constexpr std::string_view scheme = "http://";
  if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  if (text.find("://") != std::string_view::npos) return wrong();
  service_url out;
  const std::size_t slash = std::min(text.find('/'), text.size());
  out.base = text.substr(slash);
  while (out.base.ends_with('/')) out.base.pop_back();
  text = text.substr(0, slash);
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return wrong();
  const std::size_t colon = text.find(':', bracket);
  out.host = text.starts_with('[') ? text.substr(1, bracket - 1) : text.substr(0, colon);
  out.port = colon == std::string_view::npos ? "80" : text.substr(colon + 1);
  if (out.host.empty() || !is_port(out.port)) return wrong();
  return out;
}

}  // namespace troupe
