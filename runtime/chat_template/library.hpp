// Jinja's filters and tests, and the methods of Python's strings and mappings, by name.
#pragma once
#include <string_view>

#include "runtime/chat_template/arguments.hpp"

namespace troupe::jinja {

bool has_filter(std::string_view name);
bool has_test(std::string_view name);

// Errors: there is no such filter or test, or it takes no such arguments.
value call_filter(budget& spent, std::string_view name, const value& input, arguments given);
bool call_test(budget& spent, std::string_view name, const value& input, arguments given);

// Errors: `self` has no such method, it may not be called in a template, or takes no such arguments.
value call_method(budget& spent, const value& self, std::string_view name, arguments given);

}  // namespace troupe::jinja
