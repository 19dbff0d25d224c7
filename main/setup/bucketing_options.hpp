// Settings as buckets are made of them.
#pragma once
#include "config/settings.hpp"
#include "runtime/bucketing/make_buckets.hpp"

namespace troupe {

bucketing_options to_bucketing_options(const config::settings& settings);

}  // namespace troupe
