// troupe buckets: the buckets that options make, what padding to them costs, and which would cost least.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/measurements/served_sizes.hpp"
#include "main/setup/bucketing_options.hpp"
#include "runtime/bucketing/bucket_text.hpp"
#include "runtime/bucketing/padding_waste.hpp"
#include "runtime/bucketing/text_file.hpp"
#include "runtime/json/json.hpp"

namespace troupe::cli {
namespace {

struct buckets_options {
  config::setting_sources sources;
  std::int32_t block_size = 0;  // 0: that of the settings
  std::int32_t num_blocks = 0;
  bool json = false;
  std::string trace;
  std::string suggest;
  std::int32_t count = 8;
};

engine_sizes sizes_of(const config::settings& settings, const buckets_options& options) {
  engine_sizes sizes =
      served_sizes(settings, options.block_size > 0 ? options.block_size : settings.block_size);
  if (options.num_blocks > 0) sizes.num_blocks = options.num_blocks;
  return sizes;
}

json to_json(const std::vector<bucket>& buckets) {
  json out = json::array();
  for (const bucket& b : buckets) out.push_back({b.batch, b.query, b.blocks});
  return out;
}

json to_json(const std::vector<unified_bucket>& buckets) {
  json out = json::array();
  for (const unified_bucket& b : buckets)
    out.push_back({b.query, b.shared_blocks, b.unique_blocks, b.causal ? 1 : 0});
  return out;
}

json to_json(const padding_waste& waste) {
  return {{"lengths", waste.lengths},
          {"tokens", waste.tokens},
          {"padding_tokens", waste.padding_tokens},
          {"waste", waste.share()},
          {"fallbacks", waste.fallbacks}};
}

std::string percent(const padding_waste& waste) {
  return fmt::format("{} padding tokens, {:.2f} % of what is computed", waste.padding_tokens,
                     100 * waste.share());
}

// One line per batch and query, with all their blocks.
void print_table(const char* phase, const std::vector<bucket>& buckets) {
  fmt::print("\n{} {} buckets\n{:>6} {:>7}  blocks", buckets.size(), phase, "batch", "query");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const bucket& b = buckets[i];
    if (i == 0 || b.batch != buckets[i - 1].batch || b.query != buckets[i - 1].query)
      fmt::print("\n{:>6} {:>7} ", b.batch, b.query);
    fmt::print(" {}", b.blocks);
  }
  fmt::print("\n");
}

void print_table(const std::vector<unified_bucket>& buckets) {
  fmt::print("\n{} unified buckets\n{:>7} {:>7} {:>7}  causal", buckets.size(), "query", "shared", "unique");
  for (const unified_bucket& b : buckets)
    fmt::print("\n{:>7} {:>7} {:>7}  {}", b.query, b.shared_blocks, b.unique_blocks, b.causal ? "yes" : "no");
  fmt::print("\n");
}

void print_table(const bucket_plan& plan) {
  for (const std::string& line : describe(plan))
    if (!line.starts_with("Generated")) fmt::print("{}\n", line);
  if (plan.strategy == bucketing_strategy::none) fmt::print("no buckets: every step runs as it is\n");
  if (!plan.prompt.empty()) print_table("prompt", plan.prompt);
  if (!plan.decode.empty()) print_table("decode", plan.decode);
  if (!plan.unified.empty()) print_table(plan.unified);
}

// "1 prompt", "2 prompts".
std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_table(const padding_waste& waste) {
  fmt::print("\ntrace      {}, {}\npadding    {}\nfallbacks  {} beyond every bucket\n",
             counted(waste.lengths, "prompt"), counted(waste.tokens, "token"), percent(waste),
             counted(waste.fallbacks, "prompt"));
}

// Text that is no UTF-8, as a file's name may be, is told with replacement characters.
void print_json(const json& out) {
  fmt::print("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
}

result<std::vector<std::int32_t>> load_trace(const std::string& path) {
  const auto text = read_text_file(path, max_trace_bytes);
  if (!text) return tl::unexpected(text.error());
  return parse_trace(*text, path);
}

padding_waste measure(const std::vector<std::int32_t>& lengths, const bucket_plan& plan) {
  if (plan.strategy == bucketing_strategy::unified)
    return measure_waste(lengths, bucket_table<unified_bucket>(plan.unified));
  return measure_waste(lengths, bucket_table<bucket>(plan.prompt));
}

// Empty where every prompt fits into a step.
std::string tell_longer_than_a_step(const std::vector<std::int32_t>& lengths, std::int32_t rows_of_step) {
  const auto longer =
      std::ranges::count_if(lengths, [=](std::int32_t length) { return length > rows_of_step; });
  if (longer == 0) return {};
  return fmt::format(
      "# {} of them {} longer than max_num_batched_tokens ({}) and computed in pieces, for which buckets "
      "beyond\n"
      "# that are of no use: suggest for the pieces, or take a larger max_num_batched_tokens.\n",
      longer, longer == 1 ? "is" : "are", rows_of_step);
}

int suggest(const buckets_options& options) {
  const auto loaded = load(options.sources);
  if (!loaded) return loaded.error();
  const auto lengths = load_trace(options.suggest);
  if (!lengths) return report(lengths.error());
  const auto suggested = suggest_lengths(*lengths, options.count);
  if (!suggested) return report(suggested.error());
  std::vector<bucket> buckets;
  for (const std::int32_t length : suggested->lengths) buckets.push_back({1, length, 0});
  const padding_waste waste = measure_waste(*lengths, bucket_table<bucket>(buckets));
  if (options.json) {
    print_json({{"prompt", to_json(buckets)}, {"trace", to_json(waste)}});
    return exit_ok;
  }
  fmt::print("# {} for {}: {}\n# For --bucketing-from-file; buckets of decodes are not in it.\n",
             counted(std::ssize(buckets), "bucket"), counted(waste.lengths, "prompt"), percent(waste));
  fmt::print("{}", tell_longer_than_a_step(*lengths, loaded->values.max_num_batched_tokens));
  for (const bucket& b : buckets) fmt::print("{}\n", to_string(b));
  return exit_ok;
}

int show(const buckets_options& options) {
  const auto loaded = load(options.sources);
  if (!loaded) return loaded.error();
  const auto plan = make_buckets(to_bucketing_options(loaded->values), sizes_of(loaded->values, options));
  if (!plan) return report(plan.error());
  std::optional<padding_waste> waste;
  if (!options.trace.empty()) {
    const auto lengths = load_trace(options.trace);
    if (!lengths) return report(lengths.error());
    waste = measure(*lengths, *plan);
  }
  if (options.json) {
    json out{{"prompt", to_json(plan->prompt)},
             {"decode", to_json(plan->decode)},
             {"unified", to_json(plan->unified)}};
    if (waste) out["trace"] = to_json(*waste);
    print_json(out);
    return exit_ok;
  }
  print_table(*plan);
  if (waste) print_table(*waste);
  return exit_ok;
}

}  // namespace

void add_buckets(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<buckets_options>();
  CLI::App* command = app.add_subcommand("buckets", "Print the shapes that steps are rounded up to");
  config::add_flags(*command, {config::option_group::bucketing}, options->sources);
  config::add_flags(*command, {"max_num_seqs", "max_num_batched_tokens", "max_model_len"}, options->sources);
  command
      ->add_option("--block-size,--page-size", options->block_size,
                   "Tokens of one KV block, also such as no device here has; 0: as configured")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
  command
      ->add_option("--num-blocks", options->num_blocks,
                   "KV blocks; 0: as many as max_num_seqs sequences of max_model_len fill, or as serve has "
                   "where that is not set either")
      ->check(CLI::Range(0, max_bucket_value))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One line of JSON");
  CLI::Option* trace = command->add_option("--trace", options->trace,
                                           "File of prompt lengths: what padding costs them as well");
  CLI::Option* suggest_trace =
      command->add_option("--suggest", options->suggest,
                          "File of prompt lengths: only print the bucket file that costs them least");
  trace->type_name("FILE")->excludes(suggest_trace);
  suggest_trace->type_name("FILE");
  command->add_option("--buckets", options->count, "Buckets to suggest")
      ->needs(suggest_trace)
      ->check(CLI::Range(1, max_suggested_buckets))
      ->capture_default_str();
  command->footer(
      "\nDefaults are those of `troupe serve` with the same settings. max_model_len and the number of KV "
      "blocks\n"
      "are those of the model where neither is set (the default model, or TROUPE_MODEL; kv_cache_memory of\n"
      "blocks). Needs no model: without one a context of 4096 is taken, and blocks for all sequences.\n"
      "\nExamples:\n"
      "  troupe buckets --max-num-seqs 32 --max-model-len 2048 --num-blocks 1024\n"
      "  troupe buckets --bucketing-strategy linear --prompt-query-bucket-step 64 --json\n"
      "  troupe buckets --trace lengths.txt\n"
      "  troupe buckets --suggest lengths.txt --buckets 4 > buckets.txt");
  command->callback([options, &chosen] {
    chosen = [options] { return options->suggest.empty() ? show(*options) : suggest(*options); };
  });
}

}  // namespace troupe::cli
