// What to say to somebody whose command line is not understood.
#pragma once
#include <CLI/App.hpp>

namespace troupe::cli {

// After CLI::ExtrasError: names the command, the first argument that nothing took, and what may have been
// meant.
void complain_of_extras(const CLI::App& app);

}  // namespace troupe::cli
