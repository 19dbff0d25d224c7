// A template's tokens as a tree of statements.
#pragma once
#include <cstddef>
#include <string_view>

#include "runtime/chat_template/ast.hpp"
#include "runtime/result.hpp"

namespace troupe::jinja {

// Errors: invalid_argument for what is no template, unsupported for statements outside the subset.
result<block> parse_template(std::string_view source, std::size_t max_depth);

}  // namespace troupe::jinja
