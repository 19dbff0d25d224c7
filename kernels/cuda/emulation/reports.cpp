#include "kernels/cuda/emulation/reports.hpp"

#include <utility>

namespace troupe::kernels::cuda::emulation {
namespace {

std::vector<std::string> kept_reports;

}  // namespace

void report(std::string text) { kept_reports.push_back(std::move(text)); }

std::vector<std::string> take_reports() { return std::exchange(kept_reports, {}); }

}  // namespace troupe::kernels::cuda::emulation
