// Scripts and other properties of Unicode, as PCRE2 has them.
#pragma once
#include <optional>
#include <string_view>

#include "runtime/grammar/regex/code_points.hpp"

namespace troupe::grammar {

// "Greek", "Script=Greek", "sc=Grek", "Script_Extensions=Greek", "scx=Greek", "Alphabetic", "Emoji", ...: a
// script's name alone is Script=. By loose_name(). Nothing: an unknown name. The first to ask for one waits
// while all code points are looked through, some 30 ms; what was found is kept. Any thread.
std::optional<code_point_set> unicode_property(std::string_view name);

}  // namespace troupe::grammar
