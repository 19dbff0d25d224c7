// What a request says that its body is.
#pragma once
#include <boost/beast/core/string.hpp>
#include <string_view>

namespace troupe::net {

// Whether a Content-Type names JSON, with parameters or without: blanks may stand in front of their ';' (RFC
// 9110, 5.6.6).
inline bool names_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  type = type.substr(0, type.find_last_not_of(" \t") + 1);
  return boost::beast::iequals({type.data(), type.size()}, "application/json");
}

}  // namespace troupe::net
