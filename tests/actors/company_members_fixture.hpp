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

// A company with a drafter that drafts whatever it costs.
company_setup with_drafts();
// Those of such a company with two tokenizers for short prompts.
std::vector<company_member> company_members();

}  // namespace troupe::test
