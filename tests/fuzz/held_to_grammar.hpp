// A client's grammar: compiled within small limits, and some tokens of it drawn.
#pragma once
#include <string_view>

#include "runtime/grammar/specification/grammar_spec.hpp"

namespace troupe::fuzz {

// `path`: which of the allowed tokens are taken, byte by byte.
void hold_to(const grammar_spec& spec, std::string_view path);

}  // namespace troupe::fuzz
