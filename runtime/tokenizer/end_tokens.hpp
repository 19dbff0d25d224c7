// The tokens after which nothing more is generated.
#pragma once
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// Those of the vocabulary, ascending.
std::vector<token_id> end_tokens(const tokenizer& vocabulary);

}  // namespace troupe
