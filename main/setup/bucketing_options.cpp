#include "main/setup/bucketing_options.hpp"

#include <optional>
#include <string>

namespace troupe {
namespace {

bucketing_strategy strategy_of(const std::string& name) {
  if (name == "linear") return bucketing_strategy::linear;
  if (name == "unified") return bucketing_strategy::unified;
  if (name == "none") return bucketing_strategy::none;
  return bucketing_strategy::exponential;
}

std::optional<decode_batch_options> decode_batch_of(const config::settings& from) {
  if (!from.counts_decode_batches_down()) return std::nullopt;
  decode_batch_options out;
  if (from.decode_batch_bucket_strategy == "linear") out.kind = decode_batch_options::strategy::linear;
  out.min = from.decode_batch_bucket_min.value_or(out.min);
  out.step = from.decode_batch_bucket_step.value_or(out.step);
  out.limit = from.decode_batch_bucket_limit.value_or(out.limit);
  return out;
}

}  // namespace

bucketing_options to_bucketing_options(const config::settings& from) {
  bucketing_options out;
  out.strategy = strategy_of(from.bucketing_strategy);
  out.fill = from.bucket_fill == "drop" ? bucket_fill::drop : bucket_fill::fill;
  out.prompt.batch = {from.prompt_bs_bucket_min, from.prompt_bs_bucket_step, from.prompt_bs_bucket_max,
                      from.prompt_bs_bucket_limit};
  out.prompt.query = {from.prompt_query_bucket_min, from.prompt_query_bucket_step,
                      from.prompt_query_bucket_max, from.prompt_query_bucket_limit};
  out.prompt.blocks = {from.prompt_block_bucket_min, from.prompt_block_bucket_step,
                       from.prompt_block_bucket_max, from.prompt_block_bucket_limit};
  out.decode.batch = {from.decode_bs_bucket_min, from.decode_bs_bucket_step, from.decode_bs_bucket_max,
                      from.decode_bs_bucket_limit};
  out.decode.query = {from.decode_query_bucket_min, from.decode_query_bucket_step,
                      from.decode_query_bucket_max, from.decode_query_bucket_limit};
  out.decode.blocks = {from.decode_block_bucket_min, from.decode_block_bucket_step,
                       from.decode_block_bucket_max, from.decode_block_bucket_limit};
  out.decode_batch = decode_batch_of(from);
  out.from_file = from.bucketing_from_file;
  return out;
}

}  // namespace troupe
