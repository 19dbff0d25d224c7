#include "runtime/drafting/same_vocabulary.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

tl::unexpected<error> differ(const named_vocabulary& target, const named_vocabulary& draft,
                             const std::string& how) {
  return fail(error_code::invalid_argument,
              fmt::format("the draft model {} and the model {} have different vocabularies: {}", draft.file,
                          target.file, how),
              "speculative_config");
}

}  // namespace

result<void> check_same_vocabulary(const named_vocabulary& target, const named_vocabulary& draft) {
  const std::int32_t size = target.tokens.vocab_size();
  if (draft.tokens.vocab_size() != size)
    return differ(target, draft, fmt::format("{} tokens and {}", draft.tokens.vocab_size(), size));
  for (token_id id = 0; id < size; ++id) {
    const bool same = target.tokens.piece(id) == draft.tokens.piece(id) &&
                      target.tokens.is_special(id) == draft.tokens.is_special(id) &&
                      target.tokens.is_end_of_generation(id) == draft.tokens.is_end_of_generation(id);
    if (!same) return differ(target, draft, fmt::format("token {} is not the same", id));
  }
  return {};
}

}  // namespace troupe
