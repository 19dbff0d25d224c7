// Whether two models can draft for each other: a token of the one has to be the same token of the other.
#pragma once
#include <string>

#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

struct named_vocabulary {
  const tokenizer& tokens;
  std::string file;
};

// Errors: invalid_argument, naming both files and the first difference.
result<void> check_same_vocabulary(const named_vocabulary& target, const named_vocabulary& draft);

}  // namespace troupe
