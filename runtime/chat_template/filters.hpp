// The parts of the filter library.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {

struct filter {
  value (*call)(budget&, const value&, const arguments&);
  const char* parameters = "";  // as arguments::settle() has them
};
using filters = std::map<std::string, filter, std::less<>>;

const filters& text_filters();    // on one value
const filters& number_filters();  // the same, of numbers
const filters& list_filters();    // on the items of a list
const filters& group_filters();   // into several lists

// What stands at a path of attributes: "a.b.0", or a place. Errors: no path.
value attribute_path(budget& spent, const value& item, const value& path);
// What items are sorted by, or told apart by: themselves or what stands at `path` (may be missing), text
// without regard to case unless asked.
value sort_key(budget& spent, const value& item, const value* path, bool case_sensitive);
// Sorted by these keys, those that are equal in the order in which they stand.
std::vector<std::pair<value, value>> sorted_by_key(budget& spent, std::vector<std::pair<value, value>> keyed,
                                                   bool reverse);

}  // namespace troupe::jinja
