// troupe gpu-selftest: whether a CUDA device computes what the CPU does, and how fast.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/json_dumps.hpp"
#include "main/setup/cuda_support.hpp"
#include "main/setup/default_model.hpp"
#include "runtime/json/json.hpp"

#ifdef TROUPE_HAS_CUDA
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

#include "main/measurements/rounded.hpp"
#include "runtime/executor_cuda/self_test/self_test.hpp"
#endif

namespace troupe::cli {
namespace {

constexpr int all_proposals = 256;  // more than cuBLASLt has for a product

struct selftest_options {
  std::string model;
  std::int32_t device_id = 0;
  std::int32_t prompt = 256;
  std::int32_t context = 1024;
  std::int32_t rounds = 20;
  std::string gpu_weights = "bf16";
  bool json = false;
};

#ifdef TROUPE_HAS_CUDA

json json_of(const checks::kernel_check& check) {
  json out{{"kernel", check.name}, {"shapes", check.shapes}, {"passed", check.passed}};
  // JSON has no infinity: what is no number is infinitely far from its expectation.
  out["largest_difference"] = nullptr;
  if (std::isfinite(check.difference)) out["largest_difference"] = check.difference;
  out["bound"] = check.bound;
  if (!check.failure.empty()) out["failure"] = check.failure;
  return out;
}

json json_of(const checks::kernel_timing& timing) {
  json out{{"kernel", timing.name},
           {"shape", timing.shape},
           {"us", rounded(timing.microseconds)},
           {"share_of_copy_bandwidth", rounded(timing.bandwidth_share)}};
  if (timing.operations > 0) out["share_of_arithmetic"] = rounded(timing.arithmetic_share);
  if (timing.best_microseconds > 0) out["best_us"] = rounded(timing.best_microseconds);
  if (timing.invariant_microseconds > 0) out["batch_invariant_us"] = rounded(timing.invariant_microseconds);
  return out;
}

json json_of(const step_time& time) {
  if (!(time.whole > 0)) return nullptr;  // it was not timed
  return {{"us", rounded(time.whole)},
          {"device_us", rounded(time.device)},
          {"gap_us", rounded(time.gap)},
          {"idle_share", rounded(time.idle_share())}};
}

json json_of(const decode_timing& decode) {
  return {{"sequences", decode.sequences},
          {"context", decode.context},
          {"graph", json_of(decode.as_graph)},
          {"eager", json_of(decode.eagerly)},
          {"batch_invariant", json_of(decode.batch_invariant)},
          {"share_of_copy_bandwidth", rounded(decode.bandwidth_share)}};
}

template <class T>
json json_of_all(const std::vector<T>& parts) {
  json out = json::array();
  for (const T& each : parts) out.push_back(json_of(each));
  return out;
}

// null: it was not tried.
json json_of(std::optional<bool> found) { return found ? json(*found) : json(nullptr); }

void print_selftest_json(const std::string& model, const std::string& weights,
                         const self_test_report& report) {
  json out;
  out["passed"] = report.passed();
  out["failures"] = report.failures();
  out["model"] = model;
  out["gpu_weights"] = weights;
  out["device"] = report.device;
  out["products"] = report.products;
  out["kernels_passed"] = report.kernels_passed();
  out["kernels"] = json_of_all(report.kernels);
  out["copy_gb_per_s"] = rounded(report.times.limits.copy_bandwidth / 1e9);
  out["product_tflop_per_s"] = rounded(report.times.limits.arithmetic / 1e12);
  out["timings"] = json_of_all(report.times.timings);
  out["logprobs_compared"] = report.compared;
  out["logprobs_mean_difference"] = report.mean_difference;
  out["logprobs_largest_difference"] = report.largest_difference;
  out["greedy_compared"] = report.greedy_compared;
  out["greedy_different"] = report.greedy_different;
  out["graphs_agree"] = json_of(report.graphs_agree);
  out["batch_invariant_keeps_bits"] = json_of(report.keeps_bits);
  out["weight_bytes"] = report.weight_bytes;
  out["prompt_us"] = rounded(report.prompt_time);
  out["batch_invariant_prompt_us"] = rounded(report.batch_invariant_prompt_time);
  out["decode"] = json_of_all(report.decodes);
  out["version"] = TROUPE_VERSION;
  std::printf("%s\n", json_dumps(out).c_str());
}

const char* in_words(std::optional<bool> found, const char* yes, const char* no) {
  return !found ? "WERE NOT COMPARED" : *found ? yes : no;
}

void print_kernels(const self_test_report& report) {
  for (const checks::kernel_check& each : report.kernels)
    std::printf("kernel       %-6s %s: %.3g apart at most, %.3g allowed there%s%s\n",
                each.passed ? "right" : "WRONG", each.name.c_str(), each.difference, each.bound,
                each.failure.empty() ? "" : ": ", each.failure.c_str());
  std::printf("limits       %.0f GB/s copied, %.0f TFLOP/s multiplied\n",
              report.times.limits.copy_bandwidth / 1e9, report.times.limits.arithmetic / 1e12);
  for (const checks::kernel_timing& each : report.times.timings) {
    std::printf("time         %8.1f us  %3.0f %% of bandwidth, %3.0f %% of arithmetic  %s, %s",
                each.microseconds, 100 * each.bandwidth_share, 100 * each.arithmetic_share, each.name.c_str(),
                each.shape.c_str());
    if (each.best_microseconds > 0) std::printf(", %.1f us at best", each.best_microseconds);
    if (each.invariant_microseconds > 0)
      std::printf(", %.1f us batch-invariant", each.invariant_microseconds);
    std::printf("\n");
  }
}

void print_selftest_table(const std::string& model, const std::string& weights,
                          const self_test_report& report) {
  std::printf("device       %s, %s\n", report.device.c_str(), report.products.c_str());
  print_kernels(report);
  std::printf("model        %s, weights: %s\n", model.c_str(), weights.c_str());
  std::printf("logprobs     %d compared with the CPU's: %.4f apart on average, %.4f at most\n",
              report.compared, report.mean_difference, report.largest_difference);
  std::printf("greedy       %d of %d tokens differ; graphs and eager steps %s\n", report.greedy_different,
              report.greedy_compared, in_words(report.graphs_agree, "agree", "DISAGREE"));
  std::printf("company      batch-invariant steps, alone and in company: a row's bits %s\n",
              in_words(report.keeps_bits, "are the same", "DIFFER"));
  std::printf("prompt       %.0f us, batch-invariant %.0f us\n", report.prompt_time,
              report.batch_invariant_prompt_time);
  for (const decode_timing& each : report.decodes)
    std::printf(
        "decode %4d  of %d tokens: %.0f us as a graph (device idle for %.1f %%), %.0f us eagerly, %.0f us "
        "batch-invariant; %.0f %% of the copies' bandwidth\n",
        each.sequences, each.context, each.as_graph.whole, 100 * each.as_graph.idle_share(),
        each.eagerly.whole, each.batch_invariant.whole, 100 * each.bandwidth_share);
  for (const std::string& each : report.failures()) std::printf("FAILED       %s\n", each.c_str());
  std::printf("%s\n", report.passed() ? "passed" : "FAILED");
}

double microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What kept the test from beginning, also as a report that holds nothing else.
int report_untested(const selftest_options& wanted, const std::string& model, const error& why) {
  const int code = report(why);
  if (!wanted.json) return code;
  self_test_report none;
  none.errors.push_back(why.message);
  print_selftest_json(model, wanted.gpu_weights, none);
  return finish_output(code);
}

int run_selftest(const selftest_options& wanted) {
  const auto path = find_model(wanted.model);
  if (!path) return report_untested(wanted, wanted.model, path.error());
  const auto device = find_cuda_support().find(wanted.device_id);
  if (!device) return report_untested(wanted, *path, device.error());
  const auto model = load_model(*path);
  if (!model) return report_untested(wanted, *path, model.error());
  cpu_executor_options common;
  common.limits = {.max_rows = std::max(1024, wanted.prompt), .max_sequences = 64};
  cuda_choice choice;
  choice.device_id = wanted.device_id;
  choice.memory_utilization = 0.8;
  choice.weights = weight_form_of(wanted.gpu_weights);
  self_test_options options;
  options.device = cuda_options_of(common, choice);
  options.device.graph_rows = {1, 8, 64};
  options.device.warn = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  options.checks.open_gemm = options.timings.open_gemm = options.device.open_gemm;
  options.timings.open_thorough_gemm = cublaslt_opener(all_proposals);
  options.prompt = wanted.prompt;
  options.context = wanted.context;
  options.rounds = wanted.rounds;
  options.now = microseconds;
  options.progress = [begin = microseconds()](const std::string& line) {
    std::fprintf(stderr, "[%6.1f s] %s\n", 1e-6 * (microseconds() - begin), line.c_str());
  };
  const auto tested = run_self_test(*model, options);
  if (!tested) return report_untested(wanted, *path, tested.error());
  if (wanted.json) {
    print_selftest_json(*path, wanted.gpu_weights, *tested);
  } else {
    print_selftest_table(*path, wanted.gpu_weights, *tested);
  }
  return finish_output(tested->passed() ? exit_ok : exit_failure);
}

#else

int run_selftest(const selftest_options& wanted) {
  const error why = built_without_cuda();
  const int code = report(why);
  if (!wanted.json) return code;
  json out{{"passed", false}};
  out["failures"].push_back(why.message);
  std::printf("%s\n", json_dumps(out).c_str());
  return finish_output(code);
}

#endif

}  // namespace

void add_gpu_selftest(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<selftest_options>();
  CLI::App* command =
      app.add_subcommand("gpu-selftest", "Compare a CUDA device with the CPU on a model, and time its steps");
  command->add_option("model", options->model, "A GGUF file; nothing: the default model")->type_name("MODEL");
  command->add_option("--device-id", options->device_id, "Which CUDA device")->check(CLI::Range(0, 1023));
  command->add_option("--prompt", options->prompt, "Tokens of the prompt")->check(CLI::Range(2, 65536));
  command->add_option("--context", options->context, "Tokens of the decodes' contexts")
      ->check(CLI::Range(1, 65536));
  command->add_option("--rounds", options->rounds, "Rounds of each timing")->check(CLI::Range(1, 10000));
  command->add_option("--gpu-weights", options->gpu_weights, "Weights on the device, as serve has them")
      ->check(CLI::IsMember({"bf16", "fp8", "file"}));
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer("\nExample:\n  troupe gpu-selftest --json");
  command->callback([options, &chosen] { chosen = [options] { return run_selftest(*options); }; });
}

}  // namespace troupe::cli
