// The one type of JSON documents here: members stay in the order in which they were written.
#pragma once
#include <nlohmann/json.hpp>

namespace troupe {

using json = nlohmann::ordered_json;

}  // namespace troupe
