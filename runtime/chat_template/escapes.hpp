// Python's escapes in string literals.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace troupe::jinja {

// The text of a literal between its quotes; nothing for a bad escape. An escape that Python does not know
// stays as it is.
std::optional<std::string> resolve_escapes(std::string_view literal);

// Python's repr() of a string, with its choice of quotes.
std::string python_repr(std::string_view text);

}  // namespace troupe::jinja
