// Buckets: which shapes steps are rounded up to.
#include <algorithm>
#include <iterator>

#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

namespace {

constexpr std::int64_t largest = 1 << 24;
constexpr std::int64_t most = 4096;  // values of a dimension

option dimension(std::string_view name, std::optional<std::int32_t> settings::*member, std::int64_t low,
                 std::int64_t high, std::string_view help) {
  return auto_option(name, group::bucketing, member, low, high, help);
}

std::vector<option> prompt_dimensions() {
  return {
      dimension("prompt_bs_bucket_min", &settings::prompt_bs_bucket_min, 1, largest,
                "Smallest batch size of a prompt; auto: 1"),
      dimension("prompt_bs_bucket_step", &settings::prompt_bs_bucket_step, 1, largest,
                "Each batch size is a multiple of this; auto: 1"),
      dimension("prompt_bs_bucket_max", &settings::prompt_bs_bucket_max, 1, largest,
                "Largest batch size of a prompt; auto: 1"),
      dimension("prompt_bs_bucket_limit", &settings::prompt_bs_bucket_limit, 1, most,
                "Values at most (exponential); auto: ceil(log2(max)) + 1"),
      dimension("prompt_query_bucket_min", &settings::prompt_query_bucket_min, 1, largest,
                "Smallest query length of a prompt; auto: block_size"),
      dimension("prompt_query_bucket_step", &settings::prompt_query_bucket_step, 1, largest,
                "Each query length is a multiple of this; auto: block_size"),
      dimension("prompt_query_bucket_max", &settings::prompt_query_bucket_max, 1, largest,
                "Largest query length of a prompt; auto: max_num_batched_tokens, at most max_model_len"),
      dimension("prompt_query_bucket_limit", &settings::prompt_query_bucket_limit, 1, most,
                "Values at most (exponential); auto: ceil(log2(max)) + 1"),
      dimension("prompt_block_bucket_min", &settings::prompt_block_bucket_min, 0, largest,
                "Smallest context blocks of a prompt; auto: 0"),
      dimension("prompt_block_bucket_step", &settings::prompt_block_bucket_step, 1, largest,
                "Each context blocks is a multiple of this; auto: 1"),
      dimension("prompt_block_bucket_max", &settings::prompt_block_bucket_max, 0, largest,
                "Largest context blocks of a prompt; auto: what max_model_len leaves of the shortest query"),
      dimension("prompt_block_bucket_limit", &settings::prompt_block_bucket_limit, 1, most,
                "Values at most (exponential); auto: ceil(log2(max * block_size)) + 1"),
  };
}

std::vector<option> decode_dimensions() {
  return {
      dimension("decode_bs_bucket_min", &settings::decode_bs_bucket_min, 1, largest,
                "Smallest batch size of a decode; auto: 1"),
      dimension("decode_bs_bucket_step", &settings::decode_bs_bucket_step, 1, largest,
                "Each batch size is a multiple of this; auto: 1, for linear 32"),
      dimension("decode_bs_bucket_max", &settings::decode_bs_bucket_max, 1, largest,
                "Largest batch size of a decode; auto: max_num_seqs"),
      dimension("decode_bs_bucket_limit", &settings::decode_bs_bucket_limit, 1, most,
                "Values at most (exponential); auto: ceil(log2(max)) + 1"),
      dimension("decode_query_bucket_min", &settings::decode_query_bucket_min, 1, largest,
                "Smallest query length of a decode; auto: 1"),
      dimension("decode_query_bucket_step", &settings::decode_query_bucket_step, 1, largest,
                "Each query length is a multiple of this; auto: 1"),
      dimension("decode_query_bucket_max", &settings::decode_query_bucket_max, 1, largest,
                "Largest query length of a decode; auto: 1"),
      dimension("decode_query_bucket_limit", &settings::decode_query_bucket_limit, 1, most,
                "Values at most (exponential); auto: ceil(log2(max)) + 1"),
      dimension("decode_block_bucket_min", &settings::decode_block_bucket_min, 0, largest,
                "Smallest context blocks of a decode; auto: block_size"),
      dimension("decode_block_bucket_step", &settings::decode_block_bucket_step, 1, largest,
                "Each context blocks is a multiple of this; auto: block_size"),
      dimension("decode_block_bucket_max", &settings::decode_block_bucket_max, 0, largest,
                "Largest context blocks of a decode; auto: the number of KV blocks"),
      dimension("decode_block_bucket_limit", &settings::decode_block_bucket_limit, 1, most,
                "Values at most (exponential); auto: ceil(log2(max)) + 1"),
  };
}

std::vector<option> decode_batch_sizes() {
  return {
      text_option(
          "decode_batch_bucket_strategy", group::bucketing, &settings::decode_batch_bucket_strategy,
          "Decode batch sizes counted down from max_num_seqs, in place of decode_bs_bucket_*: divided "
          "(exponential, exp) or lessened (linear) by the step; auto: exponential where one of the next "
          "three is set",
          {"auto", "exponential", "exp", "linear"}),
      dimension("decode_batch_bucket_min", &settings::decode_batch_bucket_min, 1, largest,
                "No smaller decode batch size; auto: 1"),
      dimension("decode_batch_bucket_step", &settings::decode_batch_bucket_step, 1, largest,
                "What a size is divided by (at least 2), or lessened by; auto: 2"),
      dimension("decode_batch_bucket_limit", &settings::decode_batch_bucket_limit, 1, most,
                "Decode batch sizes at most; auto: 32"),
  };
}

}  // namespace

std::vector<option> bucketing_options() {
  std::vector<option> all = {
      text_option("bucketing_strategy", group::bucketing, &settings::bucketing_strategy,
                  "How buckets are spaced; unified: prompts and decodes as one",
                  {"exponential", "linear", "unified", "none"}),
      text_option("bucketing_from_file", group::bucketing, &settings::bucketing_from_file,
                  "File of buckets (batch, query, blocks), one a line, in place of a strategy's"),
      text_option(
          "bucket_fill", group::bucketing, &settings::bucket_fill,
          "Where a value of the exponential strategy is taken already: take a free one nearby, or drop it",
          {"fill", "drop"}),
  };
  for (auto part : {prompt_dimensions, decode_dimensions, decode_batch_sizes}) {
    std::ranges::move(part(), std::back_inserter(all));
  }
  return all;
}

}  // namespace troupe::config
