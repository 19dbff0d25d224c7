#include "runtime/grammar/character_runs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::grammar {

namespace {

constexpr std::uint64_t bit(unsigned group) { return std::uint64_t{1} << group; }

class finder {
 public:
  explicit finder(const run_automaton& automaton) : automaton_(automaton) {}

  // With `to` unknown where the step by a small letter is.
  character_advance advance_of(std::uint32_t at) const {
    character_advance found;
    found.to = automaton_.step(at, 'a');
    if (found.to == automaton_.unknown) return found;
    std::uint64_t other = 0;
    for (unsigned byte = 0; byte < 0x80; ++byte) {
      const std::uint64_t group = bit(character_groups::of(static_cast<unsigned char>(byte)));
      found.groups |= group;
      if ((other & group) == 0 && automaton_.step(at, static_cast<unsigned char>(byte)) != found.to)
        other |= group;
    }
    found.groups &= ~other;
    if (every_character_leads_to(at, found.to)) found.groups |= bit(character_groups::past_ascii);
    return found;
  }

 private:
  // Adds the states after `at` and a byte of [first, last].
  bool reach(std::uint32_t at, unsigned first, unsigned last, std::vector<std::uint32_t>& reached) const {
    for (unsigned byte = first; byte <= last; ++byte) {
      const std::uint32_t next = automaton_.step(at, static_cast<unsigned char>(byte));
      if (next == automaton_.unknown) return false;
      if (std::ranges::find(reached, next) == reached.end()) reached.push_back(next);
    }
    return true;
  }

  // Unicode 15, table 3-7: the first two bytes decide which may follow.
  bool every_character_leads_to(std::uint32_t at, std::uint32_t to) const {
    struct shape {
      unsigned first, last, second_first, second_last;
      int more;  // bytes after the second
    };
    static constexpr shape shapes[] = {{0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1},
                                       {0xE1, 0xEC, 0x80, 0xBF, 1}, {0xED, 0xED, 0x80, 0x9F, 1},
                                       {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2},
                                       {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2}};
    for (const shape& s : shapes) {
      std::vector<std::uint32_t> from, reached;
      if (!reach(at, s.first, s.last, from)) return false;
      for (int i = 0; i <= s.more; ++i, from = std::exchange(reached, {}))
        for (const std::uint32_t state : from)
          if (!reach(state, i == 0 ? s.second_first : 0x80, i == 0 ? s.second_last : 0xBF, reached))
            return false;
      if (from.size() != 1 || from[0] != to) return false;
    }
    return true;
  }

  const run_automaton& automaton_;
};

character_advance known_advance(const run_automaton& automaton, std::uint32_t at, advance_table& known) {
  const auto found = known.find(at);
  if (found != known.end()) return found->second;
  const character_advance made = finder(automaton).advance_of(at);
  if (made.to != automaton.unknown) known.emplace(at, made);
  return made;
}

}  // namespace

character_run find_run(const run_automaton& automaton, std::uint32_t at, std::size_t most,
                       advance_table& known) {
  character_run run;
  const std::uint32_t first = automaton.step(at, 'a');
  if (first == automaton.dead || first == automaton.unknown) return run;
  character_advance next = known_advance(automaton, at, known);
  run.groups = next.groups;
  while (run.groups != 0 && next.to != automaton.dead && run.characters < most) {
    ++run.characters;
    run.is_endless = next.to == at;
    if (run.is_endless) break;
    at = next.to;
    next = known_advance(automaton, at, known);
    if (next.to == automaton.unknown || (run.groups & ~next.groups) != 0) break;
    run.ends_dead = next.to == automaton.dead;
  }
  return run;
}

}  // namespace troupe::grammar
