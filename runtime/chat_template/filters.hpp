// The two halves of the filter library.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {

using filter = value (*)(budget&, const value&, const arguments&);
using filters = std::map<std::string, filter, std::less<>>;

const filters& text_filters();  // on one value
const filters& list_filters();  // on the items of a list

}  // namespace troupe::jinja
