// Words of a schema that JSON Schema passes over: mostly slips of the pen. No draft from 4 on defines them,
// or their value is not what the word asks for; where a value of the schema may be one that such a word
// speaks of, compiling it is refused.
#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "runtime/json/json.hpp"

namespace troupe::json_schema {

struct unknown_word {
  std::string pointer;  // JSON pointer of the word
  std::string meant;    // the one of JSON Schema that is spelled nearly like it, "" for none
  bool is_format = false;
  std::string wanted = {};  // of a known word: what its value must be
};

// In the order of the schema, `most` at most; words that begin with x- are left out, and so is what is within
// unknown words.
std::vector<unknown_word> unknown_words(const json& schema,
                                        std::size_t most = std::numeric_limits<std::size_t>::max());
// The same of its text; none where that is no JSON: whoever compiles it says so.
std::vector<unknown_word> unknown_words_in_text(const std::string& schema,
                                                std::size_t most = std::numeric_limits<std::size_t>::max());
// In a line for people: where it is, that it says nothing, and what may be meant.
std::string describe(const unknown_word& word);

}  // namespace troupe::json_schema
