// A company that drafts, and what its metrics say of that.
#pragma once
#include <string>
#include <vector>

#include "tests/actors/company_fixture.hpp"

namespace troupe::test {

// What it is asked repeats itself.
company_setup repeating_setup(speculative_method method, std::int32_t num_speculative_tokens);
// The value with all of these labels; -1 where there is none.
double labelled_metric(stage& on, const std::string& metric, const std::vector<std::string>& labels);
// How many of these messages the actor has handled.
double messages_of(stage& on, const std::string& actor, const std::string& message);

}  // namespace troupe::test
