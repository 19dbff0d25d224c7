// A tokenizer over a list of texts: the longest that fits, from the left.
#pragma once
#include <string>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::test {

// Token i is texts[i]; an empty text is never spelled. What no text begins is dropped.
tokenizer_ptr make_list_tokenizer(std::vector<std::string> texts);
// Token i is the byte i, token 256 the end.
tokenizer_ptr byte_tokenizer();

}  // namespace troupe::test
