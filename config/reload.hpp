// Two readings of the same sources: what is different, and whether a running program can follow.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/load.hpp"
#include "config/options.hpp"

namespace troupe::config {

struct setting_change {
  const option* which;
  std::string before;  // as assign() reads it
  std::string after;
};

// In the order of the options.
std::vector<setting_change> changes_between(const settings& before, const settings& after);

// The changes from `before` to `after` where all of them may be made while the program runs. Else one line
// that names every one that may not, with its origin: "troupe.toml:3: block_size: 16 -> 32 needs a restart".
tl::expected<std::vector<setting_change>, std::string> plan_reload(const settings& before,
                                                                   const loaded_settings& after);

// "max_num_seqs 64 -> 8, log_level info -> debug"
std::string describe(const std::vector<setting_change>& changes);

}  // namespace troupe::config
