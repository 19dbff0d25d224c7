// Numbers of a schema as exact decimals: 0.1 is one tenth, whatever a double holds.
#pragma once
#include <optional>
#include <string>

#include "runtime/json/json.hpp"

namespace troupe::json_schema {

// The number `whole.fraction`. Zero is never negative.
struct decimal {
  bool negative = false;
  std::string whole = "0";  // digits, no zeros in front but for "0" itself
  std::string fraction;     // digits, no zeros at the end

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
};

// Whether to_decimal() may be asked: numbers, and those that the reader kept as they were written.
bool is_number(const json& value);

// The value of a JSON number: integers and kept numbers as they are written, doubles as their shortest
// decimal that reads back the same, which is the text they were written as up to 15 digits. At most about 700
// digits more than are written.
decimal to_decimal(const json& number);

// Readers take a number with a point for a double. Whether they take this whole number, with ".0" behind it,
// for what it is.
bool is_a_double(const decimal& whole);
// The double that comes after the number, or before it; nothing from 2^53 on, where doubles are further apart
// than whole numbers.
std::optional<decimal> next_double(const decimal& number, bool upwards);

// "-12.5", "0", without an exponent.
std::string to_text(const decimal& number);

// As Python writes a double where it writes an exponent, below 1e-4 and from 1e16 on: "2.5e-07", "1e+16".
// Nothing for others.
std::optional<std::string> scientific_text(double number);
// The same for the double that the number is; nothing, too, where no double is that number.
std::optional<std::string> scientific_text(const decimal& number);

// Negative, zero or positive as a is less than, equal to or greater than b.
int compare(const decimal& a, const decimal& b);

}  // namespace troupe::json_schema
