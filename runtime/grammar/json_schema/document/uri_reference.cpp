#include "runtime/grammar/json_schema/document/uri_reference.hpp"

#include <optional>
#include <vector>

#include "runtime/grammar/regex/code_points.hpp"

namespace troupe::json_schema {
namespace {

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Characters of "scheme:", 0 where there is none.
std::size_t scheme_size(std::string_view uri) {
  if (uri.empty() || !is_alpha(uri.front())) return 0;
  for (std::size_t i = 1; i < uri.size(); ++i) {
    const char c = uri[i];
    if (c == ':') return i + 1;
    if (!is_alpha(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return 0;
  }
  return 0;
}

// Characters of scheme and authority: "http://example.com".
std::size_t root_size(std::string_view uri) {
  std::size_t end = scheme_size(uri);
  if (uri.substr(end).starts_with("//")) {
    const std::size_t slash = uri.find('/', end + 2);
    end = slash == std::string_view::npos ? uri.size() : slash;
  }
  return end;
}

std::string remove_dot_segments(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_with_slash = false;
  for (std::size_t start = 0; start <= path.size();) {
    std::size_t end = path.find('/', start);
    const bool last = end == std::string_view::npos;
    if (last) end = path.size();
    const std::string_view segment = path.substr(start, end - start);
    ends_with_slash = segment == "." || segment == "..";
    if (segment == "..") {
      if (kept.size() > 1 || (kept.size() == 1 && !kept.front().empty())) kept.pop_back();
    } else if (segment != ".") {
      kept.push_back(segment);
    }
    start = end + 1;
  }
  std::string out;
  for (std::size_t i = 0; i < kept.size(); ++i) out.append(i == 0 ? "" : "/").append(kept[i]);
  if (ends_with_slash) out += '/';
  return out;
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  if (scheme_size(reference) > 0) return std::string(reference);
  const std::size_t root = root_size(base);
  if (reference.starts_with("//")) return std::string(base.substr(0, scheme_size(base))).append(reference);
  const std::string_view prefix = base.substr(0, root);
  if (reference.starts_with("/")) return std::string(prefix) + remove_dot_segments(reference);
  std::string_view path = base.substr(root);
  path = path.substr(0, path.find('?'));
  if (reference.starts_with("?")) return std::string(prefix).append(path).append(reference);
  const std::size_t slash = path.rfind('/');
  std::string merged(slash == std::string_view::npos ? (root > scheme_size(base) ? "/" : "")
                                                     : path.substr(0, slash + 1));
  merged += reference;
  return std::string(prefix) + remove_dot_segments(merged);
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = grammar::hex_value(static_cast<unsigned char>(text[i + 1]));
      const auto low = grammar::hex_value(static_cast<unsigned char>(text[i + 2]));
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace troupe::json_schema
