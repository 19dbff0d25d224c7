// How a JSON Schema becomes a grammar, and what that may cost.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::json_schema {

struct schema_options {
  // White space before any lexeme: at most so many characters; 0: none at all.
  std::uint32_t max_white_space = 24;
  // Members of an object in the order of `properties`, the required ones that it does not name after them,
  // others last; false: in any order.
  bool fixed_order = false;

  std::size_t max_values = 1U << 18U;      // of the document: strings, numbers, arrays, objects
  std::size_t max_alternatives = 256;      // arrays or objects that one place may hold, as alternatives
  std::size_t max_terms = 1U << 16U;       // different places, combinations of schemas included
  std::size_t max_reference_depth = 128;   // of $ref, allOf, anyOf, ... within one another at one place
  std::uint64_t max_search_steps = 2'000;  // to prove one combination of expressions empty
};

}  // namespace troupe::json_schema
