// troupe bench offline: how fast this machine runs a model.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/dialogue/answer_options.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/measurements/offline_benchmark.hpp"
#include "main/measurements/rounded.hpp"
#include "main/screen/progress.hpp"
#include "main/screen/terminal.hpp"
#include "main/setup/default_model.hpp"
#include "main/setup/machine.hpp"
#include "main/setup/tuning_place.hpp"
#include "runtime/executor/machine/usable_cores.hpp"
#include "runtime/json/json.hpp"
#include "runtime/model/model.hpp"

namespace troupe::cli {
namespace {

struct bench_options {
  config::setting_sources sources;
  benchmark_options run;
  bool json = false;
};

void print_json(const std::string& model, const benchmark_options& run, const benchmark_report& report) {
  json out;
  out["model"] = model;
  out["batch"] = run.batch;
  out["input_len"] = run.input_len;
  out["output_len"] = run.output_len;
  out["threads"] = run.threads;
  out["prefill_tokens_per_s"] = rounded(report.prefill_rate());
  out["decode_tokens_per_s"] = rounded(report.decode_rate());
  out["step_ms_p50"] = rounded(report.step_ms_p50);
  out["step_ms_p99"] = rounded(report.step_ms_p99);
  out["prefill_s"] = rounded(report.prefill_seconds);
  out["decode_s"] = rounded(report.decode_seconds);
  out["load_s"] = rounded(report.load_seconds);
  out["cpu"] = cpu_name();
  out["cpu_flags"] = cpu_flags();
  out["kernel_path"] = report.kernel_path;
  out["max_num_batched_tokens"] = run.max_num_batched_tokens;
  out["block_size"] = run.block_size;
  out["kv_cache_dtype"] = report.kv_cache_dtype;
  out["tuned"] = report.tuned;
  out["version"] = TROUPE_VERSION;
  std::printf("%s\n", out.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

void print_table(const std::string& model, const benchmark_options& run, const benchmark_report& report) {
  std::printf("model        %s\n", model.c_str());
  std::printf("cpu          %s, %d threads, %s\n", cpu_name().c_str(), run.threads,
              report.kernel_path.c_str());
  std::printf("load         %.2f s\n", report.load_seconds);
  std::printf("prefill      %.1f tokens/s   (%d x %d tokens in %.3f s)\n", report.prefill_rate(), run.batch,
              run.input_len, report.prefill_seconds);
  std::printf("decode       %.1f tokens/s   (%d x %d tokens in %.3f s)\n", report.decode_rate(), run.batch,
              run.output_len - 1, report.decode_seconds);
  std::printf("decode step  %.2f ms median, %.2f ms at the 99th percentile\n", report.step_ms_p50,
              report.step_ms_p99);
}

int bench_offline(const bench_options& options) {
  const auto loaded = load(options.sources);
  if (!loaded) return loaded.error();
  const config::settings& settings = loaded->values;
  const auto path = find_model(settings.model);
  if (!path) return report(path.error());
  const auto model = load_model(*path);
  if (!model) return report(model.error());

  benchmark_options run = options.run;
  run.threads = settings.threads > 0 ? settings.threads : usable_cores();
  run.kernel_path = settings.kernel_path;
  run.dtype = settings.dtype;
  run.kv_cache_dtype = settings.kv_cache_dtype;
  run.block_size = settings.block_size;
  run.max_num_batched_tokens = settings.max_num_batched_tokens;
  const tuning_place tuning = find_tuning(settings.tuning_file);
  run.tuning_file = tuning.file;
  run.tuning_folder = tuning.folder;
  progress_bar bar(can_be_drawn_over(STDERR_FILENO));
  const auto measured = run_offline_benchmark(
      *model, run, [&bar](const std::string& phase, std::int64_t done, std::int64_t total) {
        bar.update(done, total, phase);
      });
  bar.clear();
  if (!measured) return report(measured.error());
  if (options.json) {
    print_json(model_name(*path), run, *measured);
  } else {
    print_table(model_name(*path), run, *measured);
  }
  return exit_ok;
}

}  // namespace

void add_bench(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<bench_options>();
  CLI::App* bench = app.add_subcommand(
      "bench", "Measure how fast this machine runs a model, and what the engine adds to it");
  bench->require_subcommand(1);
  add_bench_scheduler(*bench, chosen);
  CLI::App* command = bench->add_subcommand("offline",
                                            "Prefill and decode rates of the engine alone: distinct random "
                                            "prompts, all prefilled before the decode is "
                                            "timed, end-of-text ignored. prefill = batch * input-len / time, "
                                            "decode = batch * (output-len - 1) / time");
  command->add_option("--batch", options->run.batch, "Sequences side by side")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command->add_option("--input-len", options->run.input_len, "Prompt tokens of each sequence")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--output-len", options->run.output_len, "Tokens generated for each sequence")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--seed", options->run.seed, "Of the random prompts")
      ->capture_default_str()
      ->check(CLI::Validator(fault_of_seed, ""));
  command->add_flag("--json", options->json, "One line of JSON");
  config::add_flags(*command, {config::option_group::model, config::option_group::engine}, options->sources);
  command->footer(
      "\nExamples:\n"
      "  troupe bench offline --batch 32 --input-len 128 --output-len 64\n"
      "  troupe bench offline --model my.gguf --batch 1 --threads 2 --json");
  command->callback([options, &chosen] { chosen = [options] { return bench_offline(*options); }; });
}

}  // namespace troupe::cli
