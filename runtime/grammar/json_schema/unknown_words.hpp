// Words and formats that JSON Schema passes over because no draft from 4 on defines them: mostly slips of the
// pen.
#pragma once
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace troupe::json_schema {

struct unknown_word {
  std::string pointer;  // JSON pointer of the word
  std::string meant;    // the one of JSON Schema that is spelled nearly like it, "" for none
  bool is_format = false;
};

// In the order of the schema, `most` at most; words that begin with x- are left out, and so is what is within
// unknown words.
std::vector<unknown_word> unknown_words(const nlohmann::ordered_json& schema,
                                        std::size_t most = std::numeric_limits<std::size_t>::max());
// The same of its text; none where that is no JSON: whoever compiles it says so.
std::vector<unknown_word> unknown_words_in_text(const std::string& schema,
                                                std::size_t most = std::numeric_limits<std::size_t>::max());
// In a line for people: where it is, that it says nothing, and what may be meant.
std::string describe(const unknown_word& word);

}  // namespace troupe::json_schema
