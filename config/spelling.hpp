// What somebody may have meant who misspelt a name.
#pragma once
#include <string_view>
#include <vector>

namespace troupe::config {

// The one of `names` that is closest to `word` by edit distance (Levenshtein); of two the first. Empty where
// none is close.
std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& names);

}  // namespace troupe::config
