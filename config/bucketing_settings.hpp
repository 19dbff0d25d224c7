// The settings of buckets and warm-up.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace troupe::config {

// A value that is not set follows from the engine's sizes; see runtime/bucketing/make_buckets.hpp.
struct bucketing_settings {
  std::string bucketing_strategy = "exponential";
  std::string bucketing_from_file;  // empty: the strategy's buckets
  std::string bucket_fill = "fill";

  std::optional<std::int32_t> prompt_bs_bucket_min;
  std::optional<std::int32_t> prompt_bs_bucket_step;
  std::optional<std::int32_t> prompt_bs_bucket_max;
  std::optional<std::int32_t> prompt_bs_bucket_limit;
  std::optional<std::int32_t> prompt_query_bucket_min;
  std::optional<std::int32_t> prompt_query_bucket_step;
  std::optional<std::int32_t> prompt_query_bucket_max;
  std::optional<std::int32_t> prompt_query_bucket_limit;
  std::optional<std::int32_t> prompt_block_bucket_min;
  std::optional<std::int32_t> prompt_block_bucket_step;
  std::optional<std::int32_t> prompt_block_bucket_max;
  std::optional<std::int32_t> prompt_block_bucket_limit;

  std::optional<std::int32_t> decode_bs_bucket_min;
  std::optional<std::int32_t> decode_bs_bucket_step;
  std::optional<std::int32_t> decode_bs_bucket_max;
  std::optional<std::int32_t> decode_bs_bucket_limit;
  std::optional<std::int32_t> decode_query_bucket_min;
  std::optional<std::int32_t> decode_query_bucket_step;
  std::optional<std::int32_t> decode_query_bucket_max;
  std::optional<std::int32_t> decode_query_bucket_limit;
  std::optional<std::int32_t> decode_block_bucket_min;
  std::optional<std::int32_t> decode_block_bucket_step;
  std::optional<std::int32_t> decode_block_bucket_max;
  std::optional<std::int32_t> decode_block_bucket_limit;

  std::string decode_batch_bucket_strategy = "auto";  // auto: decode_bs_bucket_* unless one of these is set
  std::optional<std::int32_t> decode_batch_bucket_min;
  std::optional<std::int32_t> decode_batch_bucket_step;
  std::optional<std::int32_t> decode_batch_bucket_limit;
  // Whether one of these four is set: then decode batch sizes are counted down.
  bool counts_decode_batches_down() const {
    return decode_batch_bucket_strategy != "auto" || decode_batch_bucket_min || decode_batch_bucket_step ||
           decode_batch_bucket_limit;
  }

  std::string warmup = "auto";
  std::string tuning_file;  // empty: in the user's cache; "off": none
  bool skip_warmup = false;
  bool enforce_eager = false;
  std::string bucket_padding = "auto";
};

}  // namespace troupe::config
