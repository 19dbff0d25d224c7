// Every setting of the program as plain values with their defaults. Names, ranges and help: *_options.cpp.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "config/bucketing_settings.hpp"

namespace troupe::config {

struct settings : bucketing_settings {
  // model
  std::string model;                         // path of a GGUF file; empty: the default model's places
  std::string chat_template;                 // path of a file; empty: the model's own
  std::string default_chat_template_kwargs;  // a JSON object; empty: none
  std::string reasoning_format = "auto";
  // Separated by commas; empty: the file's name without quantisation and extension.
  std::string served_model_name;

  // engine
  std::int32_t max_model_len = 0;  // 0: what the model was trained for
  std::string dtype = "auto";
  std::int32_t max_num_seqs = 64;
  std::int32_t max_num_batched_tokens = 512;
  std::int32_t block_size = 16;
  std::uint64_t kv_cache_memory = 1ULL << 30U;
  std::string kv_cache_dtype = "auto";
  double memory_utilization = 0;  // of what is free; 0: kv_cache_memory says how much
  std::int32_t threads = 0;       // 0: one per core that the process may use
  std::string kernel_path = "auto";
  std::string device = "auto";  // main/setup/choose_device.hpp makes "cuda" of it
  std::int32_t device_id = 0;
  std::string on_device_loss = "end";
  std::string gpu_weights = "bf16";
  bool batch_invariant = false;
  double gpu_memory_utilization = 0.9;  // of the device's whole memory
  std::int32_t tokenizer_workers = 2;
  std::int32_t max_num_queued_requests = 1024;
  std::chrono::milliseconds queue_timeout{0};  // 0: none
  std::string scheduling_policy = "fcfs";
  std::int32_t priority_patience = 256;  // 0: no bound
  bool async_scheduling = true;
  bool enable_prefix_caching = true;
  std::int32_t num_scheduler_steps = 1;
  bool enable_chunked_prefill = true;
  std::int32_t long_prefill_token_threshold = 0;  // 0: the token budget alone
  std::int32_t max_num_partial_prefills = 1;
  double long_prefill_share = 0.25;
  double watermark = 0.01;
  bool new_token_ratio = false;
  std::int32_t max_logprobs = 20;
  std::chrono::milliseconds request_timeout{0};  // 0: none
  bool allow_auto_truncate = false;
  std::string speculative_config = "off";
  std::uint64_t drafter_memory = 256ULL << 20U;
  bool grammar_jump_forward = true;
  std::uint64_t grammar_cache_memory = 256ULL << 20U;
  std::chrono::milliseconds grammar_refusal_time{60'000};
  std::uint64_t grammar_max_source_bytes = 1ULL << 20U;
  std::int32_t grammar_max_depth = 200;
  std::int32_t grammar_max_regex_nodes = 200'000;
  std::int32_t grammar_max_regex_depth = 1000;
  std::int32_t grammar_max_symbols = 100'000;
  std::int32_t grammar_max_links = 1'000'000;
  std::int32_t grammar_max_schema_values = 1 << 18;
  std::int32_t grammar_max_schema_terms = 1 << 16;
  std::int32_t grammar_max_schema_depth = 128;
  std::int32_t grammar_max_alternatives = 256;
  std::int32_t grammar_max_search_steps = 2'000;
  std::int32_t grammar_max_compile_steps = 20'000'000;
  std::int32_t grammar_max_mask_steps = 1'000'000;
  std::int32_t grammar_mask_steps_per_token = 200'000;
  std::int32_t grammar_mask_steps_per_step = 8'000;
  std::int32_t grammar_threads = 0;  // 0: by the machine
  std::uint64_t grammar_max_memory = 64ULL << 20U;

  // server
  std::string host = "127.0.0.1";
  std::int32_t port = 8000;      // 0: any free one
  std::int32_t tcp_port = 7777;  // 0: any free one, -1: no TCP gateway
  std::int32_t probe_port = -1;  // 0: any free one, -1: none of their own
  std::chrono::milliseconds shutdown_grace{15'000};
  std::chrono::milliseconds step_deadline{120'000};
  std::string runner_isolation = "process";
  std::int32_t max_connections = 1024;  // of each gateway
  std::uint64_t max_header_bytes = 16ULL << 10U;
  std::uint64_t max_body_bytes = 32ULL << 20U;
  std::uint64_t max_frame_bytes = 32ULL << 20U;
  std::uint64_t max_buffered_bytes = 256ULL << 20U;  // of each gateway
  std::uint64_t max_stream_buffer_bytes = 4ULL << 20U;
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds read_timeout{30'000};
  std::chrono::milliseconds write_timeout{30'000};
  std::chrono::milliseconds idle_timeout{75'000};
  std::string api_key_file;  // empty: the key is in the environment, or nobody needs one
  std::string cors_origins;  // separated by commas, or "*"; empty: none

  // operators
  std::int32_t admin_port = -1;  // 0: any free one, -1: not served
  std::string admin_host = "127.0.0.1";
  std::string admin_key_file;  // empty: the key is in the environment

  // logging
  std::string log_level = "info";
  std::string log_format = "auto";
  std::string log_requests = "all";

  // traces
  std::string otlp_traces_endpoint;  // empty: there are none
  std::string otel_service_name = "troupe";
  std::string otel_traces_sampler = "parentbased_always_on";
  std::string otel_traces_sampler_arg;  // empty: 1
};

}  // namespace troupe::config
