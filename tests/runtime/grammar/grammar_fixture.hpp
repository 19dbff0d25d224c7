// Grammars and regular expressions over a tiny alphabet, made at random, and their meaning worked out the
// slow way: expressions as complete automata by textbook constructions, grammars by filling tables until
// nothing changes.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"

namespace troupe::grammar::oracle {

// Two letters and the two bytes of one more.
inline constexpr std::array<char, 4> alphabet{'a', 'b', '\xC3', '\xA9'};
std::size_t letter_of(char c);

// A complete deterministic automaton over the alphabet.
struct dfa {
  std::vector<std::array<std::size_t, alphabet.size()>> next;
  std::vector<bool> accepts;
  std::vector<bool> alive;  // an accepting state can be reached

  bool matches(std::string_view text) const;
  bool begins(std::string_view text) const;  // with more or nothing after it
  bool is_nothing() const { return !alive[0]; }
};
dfa nothing();
dfa one_of_letters(const std::set<char>& letters);
dfa empty_text();
dfa concat(const dfa& a, const dfa& b);
dfa either(const dfa& a, const dfa& b);
dfa both(const dfa& a, const dfa& b);
dfa complement(const dfa& a);
dfa star(const dfa& a);

// One expression in both forms.
struct expression {
  regex_id id{};
  dfa meaning;
};
expression random_expression(regex_store& store, std::mt19937& random, int depth);

// A grammar in both forms.
class grammar {
 public:
  enum class kind { lexeme, choice, sequence, repeat, any_order, empty };
  struct rule {
    kind what = kind::empty;
    dfa lexeme = {};
    std::vector<std::size_t> parts = {};  // any_order: members
    std::vector<bool> required = {};
    std::optional<std::size_t> separator = {}, other = {};
    std::uint32_t min = 0, max = 0;
  };

  // A random grammar of this many named symbols, which may refer to each other at any place; of texts over
  // the builder's alphabet.
  grammar(grammar_builder& builder, std::mt19937& random, std::size_t num_symbols);

  bool has_text() const { return accepts_or_begins("").second || accepts(""); }
  bool accepts(std::string_view text) const { return accepts_or_begins(text).first; }
  // Whether the text goes on to, or is, a text of the grammar.
  bool begins(std::string_view text) const {
    const auto [is_whole, is_part] = accepts_or_begins(text);
    return is_whole || is_part;
  }

 private:
  // Places of a text: before each byte, after the last, and `beyond`: past at least one byte that is not
  // known.
  struct tables;
  std::pair<bool, bool> accepts_or_begins(std::string_view text) const;
  std::pair<bool, bool> work_out(std::string_view text) const;
  std::size_t random_rule(grammar_builder& builder, std::mt19937& random, int depth);
  std::size_t add(rule r, symbol_id id);
  void fill_lexeme(tables& t, std::size_t id) const;
  void fill_sequence(tables& t, std::size_t id) const;
  void fill_repeat(tables& t, std::size_t id) const;
  void fill_any_order(tables& t, std::size_t id) const;

  std::vector<rule> rules_;
  std::vector<symbol_id> ids_;
  std::size_t num_named_ = 0;
  mutable std::map<std::string, std::pair<bool, bool>, std::less<>> known_;
};

}  // namespace troupe::grammar::oracle
