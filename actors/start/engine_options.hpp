// What an engine is loaded from, and how.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/drafting/speculative_config.hpp"
#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/cuda_support.hpp"
#include "runtime/isolation/runner_process.hpp"
#include "runtime/json/json.hpp"
#include "runtime/request.hpp"
#include "runtime/supervision/opening_watch.hpp"
#include "runtime/supervision/restart_backoff.hpp"

namespace troupe {

struct engine_options {
  std::string model_path;
  std::string chat_template_path = {};  // of a file in place of the model's own; empty: none
  json template_arguments = nullptr;    // chat_template/template_arguments.hpp; null: none
  // Whether what a model thinks first is told apart; unset: where its template knows the marks of that.
  std::optional<bool> reasons = {};
  std::int32_t max_model_len = 0;  // 0: what the model was trained for, or less where the KV cache holds less
  std::int32_t max_num_seqs = 64;
  std::int32_t max_num_batched_tokens = 512;
  std::int32_t block_size = 16;
  std::size_t kv_cache_bytes = std::size_t{1} << 30U;
  std::string kv_cache_dtype = "auto";
  double memory_utilization = 0;  // above 0: this share of the free memory in place of kv_cache_bytes
  std::int32_t threads = 0;       // of the executor; 0: one per core that the process may use
  std::string kernel_path = "auto";
  std::string dtype = "auto";  // vLLM's words; the CPU takes auto alone
  // A CUDA device in place of the CPU: threads, kernel_path, tuning and memory_utilization are then not
  // looked at. What is opened in this process is opened by cuda_devices.
  std::optional<cuda_choice> cuda;
  cuda_support cuda_devices;
  // Whether the CPU takes the place of a CUDA device that is lost for good: with kv_cache_bytes, or what one
  // context needs where that is more. threads and kernel_path count then.
  bool cpu_after_device_loss = false;
  bucketing_options bucketing;
  // Whether the warm-up measures which plans run fastest. Those of earlier starts are read from, and those of
  // this one kept in, a file or a folder that has one for each machine and model; neither: not kept.
  bool tune = false;
  std::filesystem::path tuning_file;
  std::filesystem::path tuning_folder;
  std::optional<speculative_config> draft;  // of a draft model, where there is one
  std::int32_t most_guesses = 0;            // of a request that a step verifies, whoever has made them
  std::int32_t max_steps_in_flight = 1;     // as many tokens at most lead up to a draft
  bool pad_to_buckets = false;
  // The program of a process that the device runs in, so that what kills it kills nothing else; unset: this
  // one.
  std::optional<runner_program> isolation;
  restart_pauses pauses_at_start = {};  // before that process is started again, where it ends as it opens
  // How long the start may get nowhere, in this process or in the device's (opening_watch). Half of that is
  // told, and when it goes on again (nothing). A process that gets nowhere for all of it is killed and
  // followed by another, once; of this process `on_hang` hears.
  std::chrono::nanoseconds patience_at_start = patience_for_opening(std::chrono::seconds(120));
  std::function<void(const std::optional<std::string>& why)> on_stall =
      [](const std::optional<std::string>&) {};
  std::function<void(const std::string& why)> on_hang = [](const std::string&) {};
  // What threads of this process that have no part in the start have computed so far, in seconds: that is no
  // progress.
  std::function<double()> cpu_seconds_beside = [] { return 0.0; };
  // Hears which phase of the start begins: "device check", "weights", "profiling".
  std::function<void(const std::string& phase)> on_phase = [](const std::string&) {};

  // Whether kv_cache_bytes are those of options that say nothing.
  bool has_default_kv_cache() const;
};

// What the options say of an executor for a model that ends with these tokens, of whatever context.
cpu_executor_options executor_options_of(const engine_options& options, std::vector<token_id> end_tokens);

}  // namespace troupe
