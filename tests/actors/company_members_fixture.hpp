// Everybody who may end or miss a message, and at whose cost.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {

struct company_member {
  std::string name;  // of the role
  std::function<void(stage&)> kill;
  std::function<bool(stage&)> lose_message;  // stage::lose_message()
  bool takes_requests_along = false;         // where it ends
};

// Those of a company with two tokenizers for short prompts and a drafter.
std::vector<company_member> company_members();

}  // namespace troupe::test
