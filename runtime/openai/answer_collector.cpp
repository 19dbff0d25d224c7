#include "runtime/openai/answer_collector.hpp"

#include "runtime/openai/responses/whole_response.hpp"
#include "runtime/openai/whole_answer.hpp"

namespace troupe::openai {

std::unique_ptr<answer_collector> make_answer_collector(const answer_identity& identity,
                                                        const answer_options& options, bool with_logprobs,
                                                        const token_namer& name) {
  if (options.kind == answer_kind::response) return std::make_unique<whole_response>(identity, options, name);
  return std::make_unique<whole_answer>(identity, options, with_logprobs, name);
}

}  // namespace troupe::openai
