// A grammar's rules, cleaned for parsing: only what is reachable and can match a text that is not empty.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"

namespace troupe::grammar {

struct rule {
  symbol_kind kind = symbol_kind::choice;
  bool nullable = false;
  // lexeme: a = terminal. choice, sequence: a, b = first and count in parts. repeat: a = body, b = min, c =
  // max. any_order: a = index in any_orders.
  std::uint32_t a = 0, b = 0, c = 0;
  // The first of its places where a symbol is awaited: one for each part of a sequence; one of a repeat; of
  // any_order one before a member, one before a separator.
  std::uint32_t slot = 0;
};

struct any_order_rule {
  struct member {
    std::uint32_t body = 0;
    bool required = false;
  };
  std::vector<member> members;
  std::optional<std::uint32_t> separator, other;
  std::uint32_t min = 0, max = unbounded, num_required = 0;
};

struct rule_table {
  std::vector<rule> rules;
  std::vector<std::uint32_t> parts;  // rules
  std::vector<any_order_rule> any_orders;
  std::vector<std::uint32_t> rule_of_slot;
  std::vector<regex_id> terminals;  // with the skip before them
  std::uint32_t start = 0;          // a sequence of one or two parts, or of none for the empty text alone

  std::size_t memory_bytes() const;
  std::span<const std::uint32_t> parts_of(const rule& r) const { return std::span(parts).subspan(r.a, r.b); }
};

// Errors: the builder's; invalid_argument for a grammar without a start, with an undefined symbol, or that
// matches no text; too_large.
result<rule_table> make_rule_table(grammar_builder& builder, step_budget& budget);

}  // namespace troupe::grammar
