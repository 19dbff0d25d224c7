#include <fmt/format.h>

#include "runtime/executor_cuda/self_test/self_test.hpp"

namespace troupe {
namespace {

// Of log-probabilities from the CPU's, on average.
constexpr double allowed_difference = 0.3;

}  // namespace

std::vector<std::string> self_test_report::failures() const {
  std::vector<std::string> found;
  for (const checks::kernel_check& each : kernels)
    if (!each.passed) found.push_back("the kernel " + each.name + " is wrong");
  found.insert(found.end(), times.failures.begin(), times.failures.end());
  found.insert(found.end(), errors.begin(), errors.end());
  if (kernels.empty() && errors.empty()) found.emplace_back("no kernel was tried");
  if (graphs_agree == false) found.emplace_back("graphs and eager steps disagree");
  if (keeps_bits == false) found.emplace_back("batch-invariant steps do not keep a row's bits");
  if (greedy_different > 0)
    found.push_back(
        fmt::format("{} of {} tokens that the CPU is sure of differ", greedy_different, greedy_compared));
  if (compared > 0 && greedy_compared == 0)
    found.emplace_back("the CPU is sure of no token of this model, so that none was compared: try another");
  const double allowed = allowed_difference * tolerance;
  if (!(mean_difference < allowed))
    found.push_back(fmt::format("log-probabilities are {:.3g} apart on average, where {:.3g} is allowed",
                                mean_difference, allowed));
  return found;
}

}  // namespace troupe
