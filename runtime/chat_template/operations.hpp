// Python's operators on values. Type errors and limits go to the budget.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/chat_template/ast.hpp"
#include "runtime/chat_template/budget.hpp"

namespace troupe::jinja {

value apply(budget& spent, expression::op op, const value& left, const value& right);
bool equal(budget& spent, const value& left, const value& right);
// Negative, zero or positive. Errors: values without an order. Zero once something has failed: a sort that is
// under way keeps one order to the end.
int compare(budget& spent, const value& left, const value& right);
// Whether the keys are all strings or all numbers. Errors: they are not, and have no order.
bool keys_have_order(budget& spent, const dict& entries);
bool contains(budget& spent, const value& container, const value& item);

// list(x): the items of a list, the characters of a string, the keys of a mapping; nothing for undefined.
// Errors: values that cannot be walked over.
std::shared_ptr<const list> iterate(budget& spent, const value& over);
// `over[index]`, undefined where there is no such thing; `over.name`.
value subscript(budget& spent, const value& over, const value& index);
value attribute(budget& spent, const value& over, std::string_view name);
value slice(budget& spent, const value& over, std::optional<std::int64_t> start,
            std::optional<std::int64_t> stop, std::int64_t stride);
// A list or mapping as a value. Errors: nested too deeply.
value contain(budget& spent, list items, bool tuple = false);
value contain(budget& spent, dict entries);

// str(x), as printed.
std::string to_text(budget& spent, const value& printed);
// json.dumps(x): Hugging Face's tojson.
struct json_style {
  bool ascii = false;                 // others are escaped
  std::optional<std::string> margin;  // of each level; nothing: all in one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
std::string to_json(budget& spent, const value& printed, const json_style& style);

}  // namespace troupe::jinja
