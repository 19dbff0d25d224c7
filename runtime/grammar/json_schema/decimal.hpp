// Numbers of a schema as exact decimals: 0.1 is one tenth, whatever a double holds.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace troupe::json_schema {

using json = nlohmann::ordered_json;

// The number `whole.fraction`. Zero is never negative.
struct decimal {
  bool negative = false;
  std::string whole = "0";  // digits, no zeros in front but for "0" itself
  std::string fraction;     // digits, no zeros at the end

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
};

// The value of a JSON number: integers as they are, doubles as their shortest decimal that reads back the
// same, which is the text they were written as up to 15 digits. At most about 700 digits.
decimal to_decimal(const json& number);

// Negative, zero or positive as a is less than, equal to or greater than b.
int compare(const decimal& a, const decimal& b);

}  // namespace troupe::json_schema
