// A context-free grammar whose terminals are regular expressions: what every front end makes.
//
// Meaning: a text belongs to the grammar when it can be cut, in any way at all, into texts of lexemes that
// the rules allow in that order. There is no longest match and no priority: an enum of "a" and "ab" next to
// an identifier means what it says. Where skip is set, one text of it, or none, may stand before each lexeme.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/regex_store.hpp"
#include "runtime/reasoning.hpp"

namespace troupe::grammar {

enum class symbol_id : std::uint32_t {};

// Members in any order, each at most once, `separator` between two of them: the properties of an object.
struct any_order {
  struct member {
    symbol_id body{};
    bool required = false;
  };
  std::vector<member> members;
  std::optional<symbol_id> separator;
  std::optional<symbol_id> other;  // may stand at any place, any number of times: additional properties
  std::uint32_t min = 0;           // members and others together
  std::uint32_t max = unbounded;
};

enum class symbol_kind : std::uint8_t { forward, lexeme, choice, sequence, repeat, any_order };

// Building never fails: past a limit everything made is a symbol that matches nothing, and failure() says
// what was exceeded; compile() returns it. Symbols are numbers of one builder.
class grammar_builder {
 public:
  explicit grammar_builder(const grammar_limits& limits = {});

  regex_store& regex() { return regex_; }
  const regex_store& regex() const { return regex_; }
  const grammar_limits& limits() const { return limits_; }

  // One text of r, preceded by skip where that is set; tight: never preceded by it. Equal lexemes are one
  // symbol. A lexeme that may be empty is allowed.
  symbol_id lexeme(regex_id r, bool tight = false);
  symbol_id literal(std::string_view text, bool tight = false) { return lexeme(regex_.literal(text), tight); }

  symbol_id empty();    // the empty text
  symbol_id nothing();  // no text
  symbol_id sequence(std::span<const symbol_id> parts);
  symbol_id sequence(std::initializer_list<symbol_id> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  // Choices of lexemes alone become one lexeme.
  symbol_id choice(std::span<const symbol_id> parts);
  symbol_id choice(std::initializer_list<symbol_id> parts) {
    return choice(std::span(parts.begin(), parts.size()));
  }
  symbol_id optional(symbol_id body) { return choice({body, empty()}); }
  // min to max times, max may be `unbounded`; counted, not expanded.
  symbol_id repeat(symbol_id body, std::uint32_t min, std::uint32_t max);
  // min to max bodies with separators between them.
  symbol_id list(symbol_id body, symbol_id separator, std::uint32_t min, std::uint32_t max);
  // A member that may be empty counts as one only where it is not empty.
  symbol_id any_order_of(any_order spec);

  // For recursion: a symbol to name now and to define once, later.
  symbol_id forward();
  void define(symbol_id forward, symbol_id body);

  void set_start(symbol_id start) { start_ = start; }
  // White space and comments: what may stand before each lexeme that is not tight, and after the last one
  // where `at_end` is set. Its empty text, if any, does not count.
  void set_skip(regex_id skip, bool at_end = false);

  // An object of JSON may have members whose names are not listed, so that one could stand twice.
  void note_open_names() { has_open_names_ = true; }
  // Every text is JSON, and no object of it may have two members of one name. Matchers see to that, where the
  // rules do not.
  void keep_names_apart() { keeps_names_apart_ = true; }
  bool keeps_names_apart() const { return has_open_names_ && keeps_names_apart_; }
  // What is said of texts is said of what stands behind the reasoning.
  void begin_after(reasoning_start reasoning) { reasoning_ = reasoning; }
  reasoning_start reasoning() const { return reasoning_; }

  const std::optional<error>& failure() const;
  // The first limit or fault is kept, e.g. by a front end that builds on.
  void fail_with(error e);

  // For the compiler.
  struct symbol {
    symbol_kind kind = symbol_kind::forward;
    bool tight = false;
    // lexeme: a = regex. choice, sequence: a, b = first and count in links(). repeat: a = body, b = min, c =
    // max. any_order: a = index in any_orders(). forward: a = body, b = 1 once defined.
    std::uint32_t a = 0, b = 0, c = 0;
  };
  std::span<const symbol> symbols() const { return symbols_; }
  std::span<const symbol_id> links() const { return links_; }
  std::span<const any_order> any_orders() const { return any_orders_; }
  std::optional<symbol_id> start() const { return start_; }
  std::optional<regex_id> skip() const { return skip_; }
  bool skip_at_end() const { return skip_at_end_; }

 private:
  symbol_id add(const symbol& s);
  symbol_id add_links(symbol_kind kind, const std::vector<symbol_id>& parts);
  const symbol& at(symbol_id id) const { return symbols_[static_cast<std::uint32_t>(id)]; }

  grammar_limits limits_;
  regex_store regex_;
  std::vector<symbol> symbols_;
  std::vector<symbol_id> links_;
  std::vector<any_order> any_orders_;
  std::unordered_map<std::uint64_t, symbol_id> lexemes_;  // regex and tightness -> symbol
  std::optional<symbol_id> start_;
  std::optional<regex_id> skip_;
  bool skip_at_end_ = false;
  bool has_open_names_ = false;
  bool keeps_names_apart_ = false;
  reasoning_start reasoning_ = reasoning_start::none;
  mutable std::optional<error> failure_;
};

}  // namespace troupe::grammar
