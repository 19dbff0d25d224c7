#include "runtime/tokenizer/end_tokens.hpp"

namespace troupe {

std::vector<token_id> end_tokens(const tokenizer& vocabulary) {
  std::vector<token_id> ids;
  for (token_id id = 0; id < vocabulary.vocab_size(); ++id)
    if (vocabulary.is_end_of_generation(id)) ids.push_back(id);
  return ids;
}

}  // namespace troupe
