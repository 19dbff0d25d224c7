// The names of the one model that is served, and the answers of /v1/models.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace troupe::openai {

// Names separated by commas, none twice; blanks around them are not theirs. Errors: invalid_argument, where
// one is empty, given twice, not UTF-8, or has control characters.
result<std::vector<std::string>> read_model_names(std::string_view text);

struct model_description {
  std::string_view id;
  std::int64_t created = 0;  // unix seconds
  std::int32_t max_model_len = 0;
  std::span<const std::string> aliases = {};  // its other names
};

bool is_name_of(std::string_view name, const model_description& model);

// The "model" of one of its names, whose "root" is the id.
std::string model_answer(std::string_view name, const model_description& model);
std::string model_list_answer(const model_description& model);  // a "list" of them, the id first

}  // namespace troupe::openai
