// Takes out of the masks of a JSON text what would give an object two members of one name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/automaton.hpp"
#include "runtime/grammar/json_names.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// Of one place of one text. Nor does it leave a token behind which a name is to come, or has begun, that can
// only become one that its object has. Exact for names that are written with no more than 256 bytes.
class name_filter {
 public:
  // `names` are those up to `at`.
  name_filter(automaton& machine, automaton::state_id at, const token_trie& vocabulary, json_names& names)
      : machine_(machine), at_(at), vocabulary_(vocabulary), names_(names) {}

  // The names are what they were. Errors: too_large, as the automaton's; invalid_argument where nothing is
  // left.
  result<void> take_out(std::span<std::uint32_t> mask);
  // Goes on with the names by these bytes, which the automaton allows; or tells that the text may not, and
  // stays. Errors: too_large.
  result<bool> advance(std::string_view bytes);

 private:
  // Those of `tokens` that the mask has.
  result<void> filter_each(std::span<const token_trie::mask_word> tokens, std::span<std::uint32_t> mask);
  // The tokens that go on along the rest of a name, from its byte `first` on, and all that end it there.
  result<void> filter_along(std::string_view rest, std::size_t first, std::span<std::uint32_t> mask);
  // Where a name has begun.
  result<void> filter_names(std::span<std::uint32_t> mask);
  result<void> filter_all(std::span<std::uint32_t> mask);
  result<void> filter_token(token_id token, std::span<std::uint32_t> mask);
  // Whether the name that is to come or has begun behind these bytes, which the names have read, can be
  // another one.
  result<bool> has_name_to_come(std::string_view bytes);
  // Whether a name that is not there yet may be written that begins as it is `written`, which leads to
  // `state`.
  result<bool> has_another(automaton::state_id state, std::string& written);
  result<void> count_look();

  automaton& machine_;
  automaton::state_id at_;
  const token_trie& vocabulary_;
  json_names& names_;
  std::size_t looks_ = 0;
};

}  // namespace troupe::grammar
