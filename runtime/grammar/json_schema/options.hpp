// How a JSON Schema becomes a grammar.
#pragma once
#include <cstdint>

namespace troupe::json_schema {

struct schema_options {
  // White space before any lexeme: at most so many characters; 0: none at all.
  std::uint32_t max_white_space = 24;
  // Members of an object in the order of `properties`, the required ones that it does not name after them,
  // others last; false: in any order.
  bool fixed_order = false;
  // Integers, whole values of an enum or a const and multiples of whole numbers: without point and exponent,
  // and no -0. Else as JSON Schema has it, for which 1.0 and 1e0 are integers.
  bool plain_integers = false;
  // Objects of which members are named have no others, unless their schema speaks of these
  // (objects_to_close).
  bool closed_objects = false;
  // Numbers of more digits than programs hold are left out, where there are others (short_numbers).
  bool short_numbers = false;
  // Values that are no objects are left out.
  bool only_objects = false;

  friend bool operator==(const schema_options&, const schema_options&) = default;
};

// What OpenAI's clients expect of an answer's schema, or of a tool's.
inline constexpr schema_options as_clients_expect{
    .fixed_order = true, .plain_integers = true, .closed_objects = true, .short_numbers = true};

}  // namespace troupe::json_schema
