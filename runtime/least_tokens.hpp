// How long an answer has to be.
#pragma once
#include <cstdint>

#include "runtime/request.hpp"

namespace troupe {

// The end of a grammar is an end at any time: while there was another way, nobody sampled it.
inline std::int32_t least_tokens(const sampling_params& params) {
  return params.grammar ? 0 : params.min_tokens;
}

}  // namespace troupe
