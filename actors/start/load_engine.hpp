// From a model file to an engine that can be served.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/start/engine_steps.hpp"
#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/drafting/speculative_config.hpp"
#include "runtime/executor/cpu_executor.hpp"
#include "runtime/executor/cuda_support.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/tuning_file.hpp"
#include "runtime/isolation/runner_process.hpp"
#include "runtime/result.hpp"
#include "runtime/supervision/opening_watch.hpp"
#include "runtime/supervision/restart_backoff.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

class draft_model;

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

// What a model runner works with.
struct runner_device {
  std::shared_ptr<executor> target;
  std::shared_ptr<draft_model> draft;  // null: there is none
};
// Without a draft model where none is wanted.
using device_opener = std::function<result<runner_device>(bool with_draft)>;

// The process that a device runs in, and after it that of the next one. None of it waits; any thread.
struct device_process {
  std::function<std::int32_t()> id = [] { return 0; };      // 0: there is none at the moment
  std::function<bool()> has_ended = [] { return false; };   // that one, by itself or killed
  std::function<bool()> was_killed = [] { return false; };  // that one, by somebody outside
  // What it has done so far, or this one where none is there; nothing: nobody knows.
  std::function<std::optional<process_work>()> work = [] { return std::nullopt; };
  // For the log: "the runner process 17 has ended: signal 9 (Killed)".
  std::function<std::string()> describe_end = [] { return std::string("the runner process has ended"); };
  std::function<std::string()> describe_threads = [] { return std::string(); };  // likewise, before ...
  std::function<void()> kill = [] {};                              // ... this ends a device that hangs
  std::function<double()> ended_cpu_seconds = [] { return 0.0; };  // of those before it
};

// A model ready to be served, without its file: load_engine() makes one from a file, a test by hand.
struct loaded_engine {
  std::shared_ptr<executor> device;
  // Another such device (and draft model), once the first is gone; unset: there is none.
  device_opener open_device;
  device_opener open_last_resort;         // in place of that once it does not help; unset: nothing does
  std::optional<device_process> process;  // that the device runs in; nothing: this one
  std::shared_ptr<draft_model> draft;     // null: there is none
  tokenizer_ptr vocabulary;
  std::shared_ptr<const chat_template> chat;
  std::string name;                // the file's name without its extension
  std::int32_t max_model_len = 0;  // longest context in tokens
  engine_steps steps;
};

// Has `device` run by the plans that `file` keeps for the key; for how many row counts they are. Errors:
// those of read_tuning_file().
result<std::size_t> use_plans(executor& device, const tuning_key& key, const std::filesystem::path& file);
// Has `device` run by the plans that an earlier start has left in `file`. Whether there were any: no file, or
// one of another machine or model, is none; what is wrong with the file is a warning in the log.
bool use_kept_tuning(executor& device, const tuning_key& key, const std::filesystem::path& file);
// What the plans of this device are kept for.
tuning_key tuning_key_of(executor& device, std::int32_t threads);

// Checks the device, repacks the weights, runs the largest step and gives the KV cache its memory; says in
// the log what it does. A bucket that steps would be padded to but that there is no room for is left out,
// with a warning. Errors: those of check_cpu_device, load_model, load_tokenizer, load_chat_template and
// make_cpu_executor; invalid_argument for a context beyond the model's or the KV cache's, or a draft
// model of another vocabulary; internal where the device's process ends, or hangs, again and again.
result<loaded_engine> load_engine(const engine_options& options);

// What the options say of an executor for a model that ends with these tokens, of whatever context.
cpu_executor_options executor_options_of(const engine_options& options, std::vector<token_id> end_tokens);

// The tokens that end a generation, ascending.
std::vector<token_id> end_tokens(const tokenizer& vocabulary);

}  // namespace troupe
