// Python's 'text with %s' % values.
#pragma once
#include <string>

#include "runtime/chat_template/operations.hpp"

namespace troupe::jinja {

// `values`: a tuple of what the conversions take in turn, a mapping that those with names take from
// ("%(name)s"), or the one value. Errors: values that are too few, too many or of another type, a conversion
// that Python does not have, a text that gets too long.
value percent_format(budget& spent, const std::string& format, const value& values);

}  // namespace troupe::jinja
