// Reference resolution of RFC 3986, as far as a schema's identifiers need it.
#pragma once
#include <string>
#include <string_view>

namespace troupe::json_schema {

// `reference` seen from `base`, both without fragment (RFC 3986, 5.2). An empty reference is the base.
std::string resolve_uri(std::string_view base, std::string_view reference);

// %41 as A; what is no such escape stays.
std::string percent_decode(std::string_view text);

}  // namespace troupe::json_schema
