// Which characters may stand in a row from a state on, however they are mixed: inside of a string, most of
// them.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/byte_set.hpp"
#include "runtime/grammar/token_trie.hpp"

namespace troupe::grammar {

// Characters of `groups` in a row are possible, as many as `characters`; after that none of them where
// ends_dead is set.
struct character_run {
  std::uint64_t groups = 0;
  std::size_t characters = 0;
  bool is_endless = false, ends_dead = false;
};

// Where one character leads, and for which groups it leads there, whichever character of the group it is.
struct character_advance {
  std::uint64_t groups = 0;
  std::uint32_t to = 0;
};
using advance_table = std::unordered_map<std::uint32_t, character_advance>;  // by state

// The characters as an automaton over classes of bytes sees them.
class character_classes {
 public:
  using classes = std::vector<unsigned char>;  // each once
  // First and second byte of characters past ASCII, and how many of 0x80 to 0xBF follow.
  struct shape {
    classes first, second;
    int more = 0;
  };

  // class_of[byte]. Characters with other bytes than the alphabet's are not looked at.
  explicit character_classes(std::span<const std::uint8_t, 256> class_of,
                             const byte_set& alphabet = byte_set::all());

  unsigned char of_letter_a() const { return letter_a_; }
  const classes& of_group(unsigned group) const { return groups_[group]; }  // ASCII groups
  const std::vector<shape>& past_ascii() const { return past_ascii_; }
  const classes& continuation() const { return continuation_; }

 private:
  unsigned char letter_a_;
  std::array<classes, character_groups::count> groups_;
  std::vector<shape> past_ascii_;
  classes continuation_;
};

// The automaton that is asked: step(state, class), `dead`, and `unknown` for a step that cannot be told.
struct run_automaton {
  std::function<std::uint32_t(std::uint32_t, unsigned char)> step;
  const character_classes& characters;
  std::uint32_t dead = 0, unknown = 0;
};

// At most `most` characters are followed. What is found is kept in `known`, unless steps could not be told.
character_run find_run(const run_automaton& automaton, std::uint32_t at, std::size_t most,
                       advance_table& known);

}  // namespace troupe::grammar
