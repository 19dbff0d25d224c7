// What a grammar may cost. Everything below is counted, never timed, so that the same grammar is refused on
// every machine, or on none. Of masks only what is not known yet costs: beside equal requests a text may get
// further than alone.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/grammar/byte_set.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

struct grammar_limits {
  std::size_t max_source_bytes = 1 << 20;   // of the text a front end reads
  std::size_t max_depth = 200;              // nesting of that text: parentheses, schemas
  std::size_t max_regex_nodes = 200'000;    // before any matching
  std::size_t max_regex_depth = 1000;       // expressions within one another, as derivatives go down
  std::size_t max_symbols = 100'000;        // lexemes and rules
  std::size_t max_links = 1'000'000;        // symbols named in all rules together
  std::size_t max_memory_bytes = 64 << 20;  // of everything worked out lazily: states, item sets, masks
  std::uint64_t max_compile_steps = 20'000'000;
  std::uint64_t max_mask_steps = 1'000'000;      // that a request may save up: most for one mask
  std::uint64_t mask_steps_per_token = 200'000;  // that it gets back with each token

  // No text of the grammar has other bytes: those that no token of the vocabulary has, so that no mask leads
  // to where nothing can go on.
  byte_set alphabet = byte_set::all();

  // Of a JSON Schema.
  std::size_t max_schema_values = 1U << 18U;  // strings, numbers, arrays and objects of the document
  std::size_t max_schema_terms = 1U << 16U;   // different places in values, combinations of schemas included
  std::size_t max_schema_depth = 128;         // $ref, allOf, anyOf, ... within one another at one place
  std::size_t max_alternatives = 256;         // arrays or objects that one place may hold, as alternatives
  std::uint64_t max_search_steps = 2'000;     // to prove one combination of expressions empty
};

// What tokens may take that are read once more, in one go, where all that was worked out for them is gone:
// their states alone, no masks. It is bounded, as whoever waits for a mask waits for it, too.
inline std::uint64_t steps_to_read_again(std::size_t tokens, const grammar_limits& limits) {
  constexpr std::uint64_t share = 128;  // of what their masks may have taken
  constexpr std::uint64_t most = 8;  // masks' worth: what 100,000 places of a string take is a quarter of it
  return std::min(limits.max_mask_steps + tokens * (limits.mask_steps_per_token / share),
                  most * limits.max_mask_steps);
}

// Of all masks of one step of the engine together, see grammar_sessions: 0.2 to 0.5 ms.
inline constexpr std::uint64_t usual_mask_steps_per_step = 8'000;

// Counts down. What runs on a budget stops when spend() says false, and its caller reports exceeded().
class step_budget {
 public:
  explicit step_budget(std::uint64_t steps) : left_(steps) {}
  bool spend(std::uint64_t steps = 1) {
    if (spent_ || steps > left_) {
      left_ = 0;
      spent_ = true;
      return false;
    }
    left_ -= steps;
    return true;
  }
  bool is_spent() const { return spent_; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
  bool spent_ = false;
};

// error_code::too_large, "grammar: more than 200000 regular expression nodes", param = the limit's name.
inline error exceeded(const char* what, std::uint64_t limit, const char* param) {
  return error{error_code::too_large, "grammar: more than " + std::to_string(limit) + " " + what, param, 0};
}

}  // namespace troupe::grammar
