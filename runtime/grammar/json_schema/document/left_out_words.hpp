// Schemas of authors who have not always written them: what is left when a word that cannot be enforced goes.
#pragma once
#include <cstddef>

#include "runtime/grammar/limits.hpp"
#include "runtime/json/json.hpp"
#include "runtime/result.hpp"

namespace troupe::json_schema {

// Takes out of the schema the word that json_schema_symbol() has refused with `why`, whose param is its JSON
// pointer there, so that the schema allows what it has allowed, and more. Where less of the word would mean
// more of something around it (a `not`, an `if`, a `oneOf`, a `contains`), around it in the text or by way of
// references, that goes, too; what stays of such a part is no closed object (objects_to_close). False, and
// the schema as it was, where no word is to blame but a part that allows nothing, or more than most_turned
// words around it would have to go. In time linear in the schema.
bool leave_out(json& schema, const error& why, const grammar::grammar_limits& limits);

inline constexpr std::size_t most_turned = 32;

// Takes out the words that are null and may not be, of a client that writes what it has not set: those of the
// schema and of the parts that stand in one another by its words, not those that a reference alone leads to.
void leave_out_unset(json& schema);

}  // namespace troupe::json_schema
