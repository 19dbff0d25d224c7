#include "runtime/grammar/character_runs.hpp"

#include <algorithm>

namespace troupe::grammar {

namespace {

// Characters past ASCII that lead to one state in the end come by few states: those of the bytes that are
// left.
constexpr std::size_t most_states_between = 64;

constexpr std::uint64_t bit(unsigned group) { return std::uint64_t{1} << group; }

class finder {
 public:
  explicit finder(const run_automaton& automaton) : automaton_(automaton) {}

  // With `to` unknown where the step by a small letter is.
  character_advance advance_of(std::uint32_t at) const {
    character_advance found;
    found.to = automaton_.step(at, automaton_.characters.of_letter_a());
    if (found.to == automaton_.unknown) return found;
    const auto leads_there = [&](unsigned char c) { return automaton_.step(at, c) == found.to; };
    for (unsigned group = 0; group < character_groups::count; ++group) {
      const auto& classes = automaton_.characters.of_group(group);
      if (!classes.empty() && std::ranges::all_of(classes, leads_there)) found.groups |= bit(group);
    }
    if (every_character_leads_to(at, found.to)) found.groups |= bit(character_groups::past_ascii);
    return found;
  }

 private:
  // Adds the states after `at` and a byte of these classes. False, as everywhere below, also where they are
  // so many that finding out would cost more than it saves.
  bool reach(std::uint32_t at, const character_classes::classes& classes,
             std::vector<std::uint32_t>& reached) const {
    for (const unsigned char c : classes) {
      const std::uint32_t next = automaton_.step(at, c);
      if (next == automaton_.unknown) return false;
      if (std::ranges::find(reached, next) == reached.end()) reached.push_back(next);
      if (reached.size() > most_states_between) return false;
    }
    return true;
  }

  bool every_character_leads_to(std::uint32_t at, std::uint32_t to) const {
    std::vector<std::uint32_t> from, reached;
    for (const character_classes::shape& s : automaton_.characters.past_ascii()) {
      from.clear();
      if (!reach(at, s.first, from)) return false;
      for (int i = 0; i <= s.more; ++i) {
        reached.clear();
        for (const std::uint32_t state : from)
          if (!reach(state, i == 0 ? s.second : automaton_.characters.continuation(), reached)) return false;
        from.swap(reached);
      }
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

// Of those of the bytes that are in the alphabet.
character_classes::classes classes_of(std::span<const std::uint8_t, 256> class_of, const byte_set& alphabet,
                                      unsigned first, unsigned last) {
  character_classes::classes found;
  (alphabet & byte_set::range(first, last)).for_each([&](unsigned char byte) {
    found.push_back(class_of[byte]);
  });
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

character_classes::character_classes(std::span<const std::uint8_t, 256> class_of, const byte_set& alphabet)
    : letter_a_(class_of['a']), continuation_(classes_of(class_of, alphabet, 0x80, 0xBF)) {
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    if (!alphabet.contains(static_cast<unsigned char>(byte))) continue;
    classes& group = groups_[character_groups::of(static_cast<unsigned char>(byte))];
    if (std::ranges::find(group, class_of[byte]) == group.end()) group.push_back(class_of[byte]);
  }
  // Unicode 15, table 3-7: the first two bytes decide which may follow.
  struct range {
    unsigned first, last, second_first, second_last;
    int more;  // bytes after the second
  };
  static constexpr range ranges[] = {{0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1},
                                     {0xE1, 0xEC, 0x80, 0xBF, 1}, {0xED, 0xED, 0x80, 0x9F, 1},
                                     {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2},
                                     {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2}};
  for (const range& r : ranges) {
    shape made{classes_of(class_of, alphabet, r.first, r.last),
               classes_of(class_of, alphabet, r.second_first, r.second_last), r.more};
    const bool has_any = !made.first.empty() && !made.second.empty() && !continuation_.empty();
    if (has_any) past_ascii_.push_back(std::move(made));
  }
}

character_run find_run(const run_automaton& automaton, std::uint32_t at, std::size_t most,
                       advance_table& known) {
  character_run run;
  const std::uint32_t first = automaton.step(at, automaton.characters.of_letter_a());
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
