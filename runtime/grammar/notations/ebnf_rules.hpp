// What the readers of EBNF make: named rules of expressions. Rules that name no rule that comes back to
// itself are regular and become one lexeme each, as long as that is not too deep; the others become symbols.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"

namespace troupe::grammar {

class ebnf_rules {
 public:
  enum class kind : std::uint8_t { terminal, reference, sequence, alternatives, repeat };
  using expression_id = std::uint32_t;

  explicit ebnf_rules(const grammar_limits& limits) : builder_(limits) {}

  grammar_builder& builder() { return builder_; }
  regex_store& regex() { return builder_.regex(); }

  expression_id terminal(regex_id r) {
    return add({.what = kind::terminal, .a = static_cast<std::uint32_t>(r)});
  }
  expression_id reference(const std::string& name, std::size_t line);
  expression_id sequence(const std::vector<expression_id>& parts) { return add_parts(kind::sequence, parts); }
  expression_id alternatives(const std::vector<expression_id>& parts) {
    return add_parts(kind::alternatives, parts);
  }
  expression_id repeat(expression_id body, std::uint32_t min, std::uint32_t max) {
    return add({.what = kind::repeat, .a = body, .b = min, .c = max});
  }
  // is_lexeme: must be regular, and is never cut by what is ignored. Errors: defined twice.
  result<void> define(const std::string& name, expression_id body, std::size_t line, bool is_lexeme);
  // A terminal that is ignored.
  void ignore(expression_id terminal) { ignored_.push_back(terminal); }

  // Errors: invalid_argument for a name without a definition, a lexeme that names itself or a rule.
  result<grammar_builder> build(const std::string& start);

 private:
  struct expression {
    kind what = kind::terminal;
    // terminal: a = regex. reference: a = rule. sequence, alternatives: a, b = first and count in parts_.
    // repeat: a = body, b = min, c = max.
    std::uint32_t a = 0, b = 0, c = 0;
  };
  struct rule {
    std::string name;
    std::size_t line = 0;  // that defines it, or else names it first
    bool is_defined = false, is_lexeme = false;
    expression_id body = 0;
    bool is_regular = false;
    regex_id regex{};    // of a regular rule
    symbol_id symbol{};  // of another
  };
  // What an expression comes to.
  struct value {
    bool is_regular = false;
    regex_id regex{};
    symbol_id symbol{};
  };
  expression_id add(const expression& e);
  expression_id add_parts(kind what, const std::vector<expression_id>& parts);
  std::uint32_t rule_named(const std::string& name, std::size_t line);
  result<void> find_regular();
  void collect_references(expression_id id, std::vector<std::uint32_t>& found) const;
  regex_id regex_of(expression_id id);
  value value_of(expression_id id);
  value value_of_parts(const expression& e);
  // Whether its expression is so deep that those who name it had better not have it within theirs.
  bool is_too_deep(const rule& r) const;
  // The builder's failure, met in the body of a rule.
  tl::unexpected<error> failure_in(const rule& r) const;
  symbol_id symbol_of(const value& v) { return v.is_regular ? builder_.lexeme(v.regex) : v.symbol; }

  grammar_builder builder_;
  std::vector<expression> expressions_;
  std::vector<expression_id> parts_;
  std::vector<rule> rules_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<expression_id> ignored_;
};

}  // namespace troupe::grammar
