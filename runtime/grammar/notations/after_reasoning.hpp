// A grammar that begins behind what a model thinks first (runtime/reasoning.hpp).
#pragma once
#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/reasoning.hpp"

namespace troupe::grammar {

// What `builder` has made, with free text in front of it up to the closing mark; where that is only possible,
// with or without it and its opening mark. A little white space may stand beside the marks.
void put_after_reasoning(grammar_builder& builder, reasoning_start reasoning);

}  // namespace troupe::grammar
