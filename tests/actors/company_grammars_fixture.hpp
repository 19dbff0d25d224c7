// Grammars for the requests of a company's simulation, over its vocabulary of bytes: easy ones, some that
// only the patient compiler gets done, and some that are refused.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"

namespace troupe::test {

struct company_grammar {
  grammar_spec_ptr spec;
  // Whether a text belongs to it, found out without the engine; none for one that is refused.
  std::function<bool(const std::string&)> has;
  bool is_hard = false;                              // takes more than the quick compiler's steps
  grammar::compiled_grammar_ptr compiled = nullptr;  // null: refused
};

const std::vector<company_grammar>& company_grammars();
// The one of this specification, which is one of them.
const company_grammar& grammar_of(const grammar_spec_ptr& spec);
// By which they are easy, hard or too hard.
inline constexpr grammar::grammar_limits company_grammar_limits{.max_compile_steps = 128 * 200};

}  // namespace troupe::test
