// JSON texts as regular expressions: what a string's characters look like between the quotes, what numbers
// look like, and what a given value looks like.
//
// The body of a string has, for each text, one spelling that everything but an unrestricted string uses: that
// of Python's json.dumps(..., ensure_ascii=False). One spelling for one text is what makes intersection and
// complement of bodies those of the texts.
#pragma once
#include <string>
#include <string_view>

#include "runtime/grammar/json_schema/numbers/decimal.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::json_schema {

using grammar::regex_id;
using grammar::regex_store;

// One code point of `set` as a string's body spells it.
regex_id spell(regex_store& store, const grammar::code_point_set& set);

// `text`, UTF-8, as a string's body spells it.
std::string spell(std::string_view text);

struct json_text {
  explicit json_text(regex_store& store);

  regex_id character;     // one code point, spelled in any way that JSON knows
  regex_id any_body;      // every string's body, in every spelling
  regex_id spelled_body;  // every string's body in the one spelling
  regex_id digits;        // [0-9]*
  regex_id whole;         // 0|[1-9][0-9]*
  regex_id number;        // a number without exponent
  regex_id scientific;    // a number with one, no larger than a double can be
  // Of whole numbers those texts that anybody writes: 15, 15.0. With more zeros a model may go on for ever.
  regex_id integer;
  regex_id plain_integer;       // one text of each: 15, -3, 0
  regex_id scientific_integer;  // some of those integers that have an exponent: 15e2, 1.0E+9

 private:
  void make_scientific(regex_store& store);
};

// "body".
regex_id quoted(regex_store& store, regex_id body);

}  // namespace troupe::json_schema
