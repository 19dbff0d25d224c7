// The methods of Python's strings that templates may call.
#pragma once
#include <map>
#include <string>

#include "runtime/chat_template/arguments.hpp"

namespace troupe::jinja {

struct string_method {
  value (*call)(budget&, const std::string&, const arguments&);
  const char* parameters = "";  // as arguments::settle() has them
};
using string_methods = std::map<std::string, string_method, std::less<>>;

const string_methods& changing_methods();   // other texts of a text
const string_methods& splitting_methods();  // lists and tuples of a text's parts
const string_methods& asking_methods();     // what a text holds, and of what kind it is

}  // namespace troupe::jinja
