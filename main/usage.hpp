// What to say to somebody whose command line is not understood.
#pragma once
#include <CLI/App.hpp>
#include <string>

namespace troupe::cli {

// What CLI11 says of a failure, after the name of the subcommand that it is of.
std::string failure_text(const CLI::App* app, const CLI::Error& failure);

// After CLI::ExtrasError: names the command, the first argument that nothing took, and what may have been
// meant.
void complain_of_extras(const CLI::App& app);

}  // namespace troupe::cli
