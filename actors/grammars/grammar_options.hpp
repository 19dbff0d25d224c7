// What grammars may cost, and who works on them: as the embedding program says it, and as the actors take it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/grammar/grammar_sessions.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/specification/grammar_cache.hpp"

namespace troupe {

struct grammar_options {
  grammar::grammar_limits limits = {};  // what one grammar may cost
  grammar::grammar_cache_limits cache = {};
  bool jump_forward = false;     // tokens that a grammar leaves no choice about take no step each
  std::size_t mask_threads = 1;  // that fill masks, the actor's own included
  // Of work that a step waits for: see grammar_sessions.
  std::uint64_t mask_steps_per_step = grammar::usual_mask_steps_per_step;
};

}  // namespace troupe
