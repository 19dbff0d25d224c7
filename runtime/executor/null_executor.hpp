// Scripted tokens at once, no arithmetic: for scheduler benchmarks, simulation and the tests of the actors.
#pragma once
#include <functional>
#include <memory>

#include "runtime/executor/executor.hpp"

namespace troupe {

// The token for a sample row; a pure function of the row so that company cannot change it. Where a mask does
// not allow it, the allowed token that comes next takes its place.
using token_script = std::function<token_id(const sample_row&)>;

// Log-probabilities asked for are told as those of a certain event: 0, rank 1, nothing beside it.
std::unique_ptr<executor> make_null_executor(kv_layout layout, token_script script);

}  // namespace troupe
