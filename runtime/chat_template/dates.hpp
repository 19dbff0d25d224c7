// strftime_now(), by which templates tell a model the date.
#pragma once
#include <ctime>
#include <string_view>

#include "runtime/chat_template/budget.hpp"

namespace troupe::jinja {

// `time` as Python's strftime writes a datetime without a zone, in the C locale: the conversions of C and
// glibc that stand for a date or a time, numbers also without their padding ("%-d"). Errors: another
// conversion, by name; a text that gets too long.
value write_date(budget& spent, std::string_view format, const std::tm& time);

}  // namespace troupe::jinja
