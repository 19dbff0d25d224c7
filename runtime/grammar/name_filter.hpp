// Takes out of the masks of a JSON text what would give an object two members of one name.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/grammar/automaton.hpp"
#include "runtime/grammar/json_names.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// Of one place of one text. Nor does it leave a token behind which a name is to come, or has begun, that can
// only become one that its object has. Exact for names that are written without escapes and are no longer
// than 256 bytes.
class name_filter {
 public:
  // `names` are those up to `at`, and are that again when a call is over.
  name_filter(automaton& machine, automaton::state_id at, const token_trie& vocabulary, json_names& names)
      : machine_(machine), at_(at), vocabulary_(vocabulary), names_(names) {}

  // Errors: too_large, as the automaton's; invalid_argument where nothing is left.
  result<void> take_out(std::span<std::uint32_t> mask);
  // Whether the text may go on by these bytes, which the automaton allows.
  result<bool> allows(std::string_view bytes);

 private:
  // Those of `tokens` that the mask has.
  result<void> try_each(std::span<const token_trie::mask_word> tokens, std::span<std::uint32_t> mask);
  // The tokens that go on along the rest of a name, and all that end it there.
  result<void> try_along(std::string_view rest, std::span<std::uint32_t> mask);
  result<void> try_names_begun(std::span<std::uint32_t> mask);
  result<bool> try_token(token_id token, std::span<std::uint32_t> mask);
  // Whether the name, if any, that the names say is to come behind these bytes can be another one.
  result<bool> has_name_to_come(std::string_view bytes);
  // Whether a name that is not there yet begins with `begin`, which leads to `state`.
  result<bool> has_another(automaton::state_id state, std::string& begin);

  automaton& machine_;
  automaton::state_id at_;
  const token_trie& vocabulary_;
  json_names& names_;
};

}  // namespace troupe::grammar
