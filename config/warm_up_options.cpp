// What is done before the first request, and whether steps run in the shape of their buckets.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> warm_up_options() {
  return {
      text_option(
          "warmup", group::bucketing, &settings::warmup,
          "What runs before the first request. full: a step of every bucket; rows: a step of every number of "
          "rows, and on a CUDA device of every graph; lazy: one prefill and one decode, and what rows has "
          "besides once nothing has run for two seconds; auto: lazy on the CPU, rows on a CUDA device",
          {"auto", "full", "rows", "lazy"}),
      text_option(
          "tuning_file", group::engine, &settings::tuning_file,
          "File that keeps what the warm-up has found to run fastest, for the next start; empty: one for "
          "each machine and model in $XDG_CACHE_HOME/troupe (~/.cache/troupe); off: nothing is tuned"),
      switch_option("skip_warmup", group::bucketing, &settings::skip_warmup, "Leave the warm-up out"),
      switch_option("enforce_eager", group::bucketing, &settings::enforce_eager,
                    "Run every step as it comes: no warm-up, no padding"),
      text_option(
          "bucket_padding", group::bucketing, &settings::bucket_padding,
          "Round steps up to their buckets; auto: no, for a CUDA device pads decodes to its graphs by itself",
          {"auto", "on", "off"}),
  };
}

}  // namespace troupe::config
