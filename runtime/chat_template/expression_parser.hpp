// Expressions of the template language, by recursive descent with Jinja's precedences.
#pragma once
#include <string_view>
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
// A call, which gets the argument `named` with the value of `variable` beside those written there.
expression_ptr parse_call(token_reader& reader, std::string_view named, std::string_view variable);
// |a|b(...) after a block's head.
std::vector<expression::step> parse_filters(token_reader& reader);
// a|b(...) in a block's head.
std::vector<expression::step> parse_filter_chain(token_reader& reader);

}  // namespace troupe::jinja
