#include "runtime/openai/answer_collector.hpp"

#include "runtime/openai/responses/whole_response.hpp"
#include "runtime/openai/whole_answer.hpp"

namespace troupe::openai {

std::unique_ptr<answer_collector> make_answer_collector(const answer_options& options,
                                                        const token_namer& name) {
  if (options.kind == answer_kind::response) return std::make_unique<whole_response>(options, name);
  return std::make_unique<whole_answer>(options.choices());
}

}  // namespace troupe::openai
