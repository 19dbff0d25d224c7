// Expressions of the template language, by recursive descent with Jinja's precedences.
#pragma once
#include <vector>

#include "runtime/chat_template/ast.hpp"
#include "runtime/chat_template/token_reader.hpp"

namespace troupe::jinja {

// Errors stay in `reader`; what is returned then must not be used.
expression_ptr parse_expression(token_reader& reader);
// The same without a trailing "if ... else ...": a loop's iterable, which a filter may follow.
expression_ptr parse_unconditional(token_reader& reader);
// a, b, c: a tuple without parentheses; one expression stays itself.
expression_ptr parse_tuple(token_reader& reader);
// |a|b(...) after a block's head.
std::vector<expression::step> parse_filters(token_reader& reader);

}  // namespace troupe::jinja
