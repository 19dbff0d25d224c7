// What the reader of JSON says of a body, said of another text.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace troupe::json_schema {

// read_json() takes every text for a body: "the body is not valid JSON at byte 3" becomes "<what> is not
// valid JSON at byte 3". Where it does not speak of the body ("a number is out of range"), `what` stands in
// front.
inline std::string message_about(std::string_view what, std::string_view message) {
  constexpr std::string_view body = "the body";
  if (!message.starts_with(body)) return fmt::format("{}: {}", what, message);
  return fmt::format("{}{}", what, message.substr(body.size()));
}

}  // namespace troupe::json_schema
