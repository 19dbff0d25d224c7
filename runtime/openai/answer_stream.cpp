#include "runtime/openai/answer_stream.hpp"

#include "runtime/openai/chunk_stream.hpp"
#include "runtime/openai/responses/response_stream.hpp"

namespace troupe::openai {

std::unique_ptr<answer_stream> make_answer_stream(const answer_identity& identity,
                                                  const answer_options& options, bool with_logprobs,
                                                  const token_namer& name) {
  if (options.kind == answer_kind::response)
    return std::make_unique<response_stream>(identity, options, name);
  return std::make_unique<chunk_stream>(identity, options, with_logprobs, name);
}

}  // namespace troupe::openai
