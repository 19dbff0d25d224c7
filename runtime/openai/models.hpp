// Answers of /v1/models.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::openai {

struct model_description {
  std::string_view id;
  std::int64_t created = 0;  // unix seconds
  std::int32_t max_model_len = 0;
};

std::string model_answer(const model_description& model);       // one "model"
std::string model_list_answer(const model_description& model);  // a "list" of it

}  // namespace troupe::openai
