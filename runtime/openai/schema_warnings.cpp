#include "runtime/openai/schema_warnings.hpp"

namespace troupe::openai {

std::vector<std::string> warnings_about(const std::vector<json_schema::unknown_word>& words) {
  constexpr std::size_t longest_pointer = 256;
  std::vector<std::string> warnings;
  for (const json_schema::unknown_word& word : words)
    if (word.pointer.size() <= longest_pointer) warnings.push_back(json_schema::describe(word));
  return warnings;
}

}  // namespace troupe::openai
