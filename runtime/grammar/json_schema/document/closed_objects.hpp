// Objects with no members but those that their schema names, where it says nothing of others: what authors
// mean who leave out "additionalProperties": false.
#pragma once
#include <unordered_set>

#include "runtime/json/json.hpp"

namespace troupe::json_schema {

// The parts of the schema that may be read so: every value that is left is one that the schema allows as it
// is, and no part of it is left without values for want of other members. Not parts that speak of the same
// object as others do (allOf, not, if, const, dependentSchemas, beside a $ref), nor alternatives of a oneOf
// that no text of a required member tells apart, nor what references from such places lead to; none at all
// where inner parts have an $id. An object without `properties` stays open. In time linear in the schema.
std::unordered_set<const json*> objects_to_close(const json& schema);

// Makes the part, an object, one of those that objects_to_close() closes neither itself nor by way of its
// references, and says nothing else: where something that left it open has gone. An `allOf` that is none
// stays.
void leave_open(json& schema);

}  // namespace troupe::json_schema
