// What a client is told of words of its JSON Schemas that say nothing, though they are served.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/document/unknown_words.hpp"

namespace troupe::openai {

inline constexpr std::size_t most_schema_warnings = 8;  // of one request

// A line each, where the place is not longer than a line should be.
std::vector<std::string> warnings_about(const std::vector<json_schema::unknown_word>& words);

}  // namespace troupe::openai
