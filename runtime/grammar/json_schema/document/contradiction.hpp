// Why a schema without values has none, where its words say so themselves.
#pragma once
#include <string>

#include "runtime/grammar/json_schema/document/schema_document.hpp"

namespace troupe::json_schema {

// Of one schema, without those below it or beside it: the words that contradict each other; empty where none
// do.
std::string contradiction_in(const json& schema);

}  // namespace troupe::json_schema
