#include "runtime/grammar/notations/choice.hpp"

namespace troupe::grammar {

result<grammar_builder> choice_grammar(std::span<const std::string> choices, const grammar_limits& limits) {
  if (choices.empty()) return fail(error_code::invalid_argument, "choice: nothing to choose from");
  // A choice costs its bytes and its place in the table.
  std::size_t bytes = 0;
  for (const std::string& choice : choices) {
    bytes += choice.size() + 1;
    if (bytes > limits.max_source_bytes)
      return tl::unexpected(exceeded("bytes of choices", limits.max_source_bytes, "max_source_bytes"));
  }
  grammar_builder builder(limits);
  builder.set_start(builder.lexeme(builder.regex().one_of({choices.begin(), choices.end()})));
  if (builder.failure()) return tl::unexpected(*builder.failure());
  return builder;
}

}  // namespace troupe::grammar
