// A measured number as a report tells it.
#pragma once
#include <cmath>

namespace troupe::cli {

// Six digits behind the point are more than any clock gives.
inline double rounded(double value) { return std::round(value * 1e6) / 1e6; }

}  // namespace troupe::cli
