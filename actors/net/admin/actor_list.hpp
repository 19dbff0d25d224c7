// The supervision tree and its actors as JSON.
#pragma once
#include <string>

#include "actors/net/admin/company_report.hpp"

namespace troupe::net {

std::string actor_list(const company_report& report);

}  // namespace troupe::net
