// Words that JSON Schema passes over because no draft from 4 on defines them: mostly slips of the pen.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace troupe::json_schema {

struct unknown_word {
  std::string pointer;  // JSON pointer of the word
  std::string meant;    // the word of JSON Schema that is spelled nearly like it, "" for none
};

// In the order of the schema; words that begin with x- are left out, and so is what is within unknown words.
std::vector<unknown_word> unknown_words(const nlohmann::ordered_json& schema);

}  // namespace troupe::json_schema
