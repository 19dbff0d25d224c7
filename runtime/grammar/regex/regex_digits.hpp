// Texts of digits alone that an expression surely has, and those that it has at most.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/grammar/regex/congruences.hpp"
#include "runtime/grammar/regex/digit_counts.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {

class regex_store::digit_texts {
 public:
  explicit digit_texts(const regex_store& store) : store_(store) {}

  // Whether r surely has a text of digits alone, or the empty one.
  bool has_some(regex_id r);
  std::uint64_t looks() const { return looks_; }

 private:
  // All digits, of so many, that are in all of the first and in none of the second.
  struct sure_texts {
    digit_counts counts;
    std::vector<congruence> all_of, none_of;
  };
  // No digits but so many, and those that are in any of these.
  struct possible_texts {
    digit_counts counts;
    std::vector<congruence> any_of;
    bool are_none() const { return counts.is_none() && any_of.empty(); }
  };

  std::optional<sure_texts> surely(regex_id r);
  std::optional<sure_texts> surely_without_empty(regex_id r);
  std::optional<sure_texts> surely_in_turn(const node& n);
  std::optional<sure_texts> surely_any_of(const node& n);
  std::optional<sure_texts> surely_all_of(const node& n);
  std::optional<sure_texts> surely_not(regex_id denied);
  possible_texts possibly(regex_id r);
  possible_texts possibly_in_turn(const node& n);
  possible_texts possibly_any_of(const node& n);
  possible_texts possibly_all_of(const node& n);
  congruence congruence_of(const node& n) const;
  bool may_look();

  const regex_store& store_;
  std::uint64_t looks_ = 0;
};

}  // namespace troupe::grammar
