// Many lexemes at once, as a deterministic automaton over bytes that is made while it is used: a state is the
// set of lexemes that are still possible, each with what is left of its expression. Every lexeme that matches
// is reported, not the longest alone.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/grammar/id_index.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/regex_store.hpp"
#include "runtime/grammar/row_table.hpp"

namespace troupe::grammar {

class lexer {
 public:
  static constexpr std::uint32_t dead = 0;  // no lexeme is possible

  lexer(regex_store regex, std::vector<regex_id> terminals);

  // The state before the first byte of these terminals, sorted, each once.
  std::uint32_t start(std::span<const std::uint32_t> terminals);
  // The state after one more byte; nothing when the budget is spent or the store is full.
  std::optional<std::uint32_t> next(std::uint32_t state, unsigned char byte_class, step_budget& budget) {
    const std::uint32_t known = rows_.at(state, byte_class);
    if (known != unknown) return known;
    return make_next(state, byte_class, budget);
  }
  // Where that is known already.
  std::optional<std::uint32_t> known_next(std::uint32_t state, std::size_t byte_class) const {
    const std::uint32_t known = rows_.at(state, byte_class);
    return known == unknown ? std::nullopt : std::optional(known);
  }
  // Terminals that match the bytes so far, sorted.
  std::span<const std::uint32_t> matched(std::uint32_t state) const {
    return std::span(matched_).subspan(states_[state].matched, states_[state].num_matched);
  }
  // Whether some terminal can match more than the bytes so far.
  bool goes_on(std::uint32_t state) const { return states_[state].goes_on; }

  const regex_store::byte_classes& classes() const { return classes_; }
  std::size_t num_classes() const { return classes_.representatives.size(); }
  const regex_store& regex() const { return regex_; }
  std::size_t num_states() const { return states_.size(); }
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  struct part {
    std::uint32_t terminal = 0;
    regex_id left{};
    friend bool operator==(const part&, const part&) = default;
  };
  struct entry {
    std::uint32_t parts = 0, num_parts = 0;
    std::uint32_t matched = 0, num_matched = 0;
    bool goes_on = false;
  };
  std::optional<std::uint32_t> make_next(std::uint32_t state, unsigned char byte_class, step_budget& budget);
  // What is left, with "the empty text alone" as empty() and no text as nothing().
  std::optional<regex_id> settled(regex_id left, step_budget& budget);
  std::uint32_t intern(const std::vector<part>& parts);

  regex_store regex_;
  std::vector<regex_id> terminals_;
  regex_store::byte_classes classes_;
  std::vector<entry> states_;
  std::vector<part> parts_;
  std::vector<std::uint32_t> matched_;
  row_table rows_;  // [state][class]
  std::vector<part> scratch_;
  id_index index_;
};

}  // namespace troupe::grammar
