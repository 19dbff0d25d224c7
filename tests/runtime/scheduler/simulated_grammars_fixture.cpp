#include "tests/runtime/scheduler/simulated_grammars_fixture.hpp"

#include <map>
#include <string>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/runtime/scheduler/ledger_fixture.hpp"
#include "tests/support/list_tokenizer.hpp"

namespace troupe {

namespace {

grammar_spec_ptr spec(grammar_kind kind, std::string text, std::vector<std::string> choices = {}) {
  return std::make_shared<const grammar_spec>(
      grammar_spec{.kind = kind, .text = std::move(text), .choices = std::move(choices)});
}

bool is_end(std::size_t token) { return token == 3 || token == 5; }

std::vector<std::string> token_texts() {
  std::vector<std::string> texts;
  for (std::int32_t i = 0; i < ledger::vocab; ++i) {
    const auto letter = [](std::int32_t n) { return static_cast<char>('a' + n % 26); };
    texts.push_back(i < 26 ? std::string{letter(i)} : std::string{letter(i), letter(i / 2)});
  }
  return texts;
}

grammar::token_trie_ptr vocabulary() {
  const std::vector<std::string> texts = token_texts();
  std::vector<grammar::vocabulary_token> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) tokens.push_back({texts[i], !is_end(i), is_end(i)});
  return grammar::make_token_trie(tokens);
}

std::map<const grammar_spec*, grammar::compiled_grammar_ptr>& known_grammars() {
  static std::map<const grammar_spec*, grammar::compiled_grammar_ptr> known;
  return known;
}

}  // namespace

const std::vector<grammar_spec_ptr>& simulated_grammars() {
  using enum grammar_kind;
  static const std::vector<grammar_spec_ptr> all{
      spec(regex, "[a-z]*"),
      spec(regex, "(ab|c){2,6}"),
      spec(regex, "[a-e]{0,9}z?"),
      spec(regex, "(a|bb)*c+"),
      spec(regex, "x{3}[0-9]"),  // no token has a digit
      spec(grammar_kind::grammar, "root ::= \"a\" root \"b\" | \"c\""),
      spec(choice, "", {"abc", "zzzz", "q"}),
      spec(regex, "(begin[a-z]{1,3}middleofit|zyxwvutsrq)+"),
      spec(regex, "[a-c](somewhatlongerthanothers)?"),
  };
  return all;
}

grammar::compiled_grammar_ptr compiled(const grammar_spec_ptr& spec) {
  static const grammar::token_trie_ptr trie = vocabulary();
  grammar::compiled_grammar_ptr& entry = known_grammars()[spec.get()];
  // Not by their specification, which would leave out what no token spells: that is to end its request.
  if (!entry) entry = grammar::compile(grammar::build_grammar(*spec, {}).value(), trie).value();
  return entry;
}

void forget_simulated_masks() {
  for (const auto& [spec, each] : known_grammars()) each->let_go();
}

tokenizer_ptr simulated_tokenizer() {
  static const tokenizer_ptr tokenizer = [] {
    std::vector<std::string> texts = token_texts();
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (is_end(i)) texts[i].clear();
    return test::make_list_tokenizer(std::move(texts));
  }();
  return tokenizer;
}

}  // namespace troupe
