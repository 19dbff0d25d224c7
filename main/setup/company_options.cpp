#include "main/setup/company_options.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <utility>

#include "actors/chaos.hpp"
#include "actors/net/http/cross_origin.hpp"
#include "main/setup/bucketing_options.hpp"
#include "main/setup/cuda_support.hpp"
#include "main/setup/default_model.hpp"
#include "main/setup/machine.hpp"
#include "main/setup/open_files.hpp"
#include "main/setup/trace_options.hpp"
#include "main/setup/tuning_place.hpp"
#include "runtime/chat_template/template_arguments.hpp"
#include "runtime/executor/machine/usable_cores.hpp"
#include "runtime/openai/models.hpp"
#include "runtime/supervision/opening_watch.hpp"

namespace troupe {

namespace {

scheduler_limits to_scheduling(const config::settings& settings) {
  scheduler_limits out;
  out.max_num_queued_requests = static_cast<std::size_t>(settings.max_num_queued_requests);
  out.policy = parse_policy(settings.scheduling_policy).value_or(scheduling_policy::fcfs);
  out.priority_patience = settings.priority_patience;
  out.max_steps_in_flight = settings.num_scheduler_steps + (settings.async_scheduling ? 1 : 0);
  out.enable_chunked_prefill = settings.enable_chunked_prefill;
  out.long_prefill_token_threshold = settings.long_prefill_token_threshold;
  out.max_num_partial_prefills = settings.max_num_partial_prefills;
  out.long_prefill_share = settings.long_prefill_share;
  out.enable_prefix_caching = settings.enable_prefix_caching;
  out.watermark = settings.watermark;
  out.reserve_new_tokens = settings.new_token_ratio;
  return out;
}

grammar::grammar_limits to_grammar_limits(const config::settings& settings) {
  grammar::grammar_limits out;
  out.max_source_bytes = settings.grammar_max_source_bytes;
  out.max_depth = static_cast<std::size_t>(settings.grammar_max_depth);
  out.max_regex_nodes = static_cast<std::size_t>(settings.grammar_max_regex_nodes);
  out.max_regex_depth = static_cast<std::size_t>(settings.grammar_max_regex_depth);
  out.max_symbols = static_cast<std::size_t>(settings.grammar_max_symbols);
  out.max_links = static_cast<std::size_t>(settings.grammar_max_links);
  out.max_schema_values = static_cast<std::size_t>(settings.grammar_max_schema_values);
  out.max_schema_terms = static_cast<std::size_t>(settings.grammar_max_schema_terms);
  out.max_schema_depth = static_cast<std::size_t>(settings.grammar_max_schema_depth);
  out.max_alternatives = static_cast<std::size_t>(settings.grammar_max_alternatives);
  out.max_search_steps = static_cast<std::uint64_t>(settings.grammar_max_search_steps);
  out.max_compile_steps = static_cast<std::uint64_t>(settings.grammar_max_compile_steps);
  out.max_mask_steps = static_cast<std::uint64_t>(settings.grammar_max_mask_steps);
  out.mask_steps_per_token = static_cast<std::uint64_t>(settings.grammar_mask_steps_per_token);
  out.max_memory_bytes = settings.grammar_max_memory;
  return out;
}

grammar_options to_grammar_options(const config::settings& settings) {
  grammar_options out;
  out.limits = to_grammar_limits(settings);
  out.cache = {settings.grammar_cache_memory, settings.grammar_refusal_time};
  out.jump_forward = settings.grammar_jump_forward;
  // Beside a forward pass on few cores another thread costs the step more than it saves the masks.
  out.mask_threads = static_cast<std::size_t>(
      settings.grammar_threads > 0 ? settings.grammar_threads : std::clamp(usable_cores() / 2, 1, 4));
  out.mask_steps_per_step = static_cast<std::uint64_t>(settings.grammar_mask_steps_per_step);
  return out;
}

// "off" and nothing at all mean: no drafts.
result<std::optional<drafter_options>> to_drafts(const config::settings& settings) {
  const std::string& text = settings.speculative_config;
  if (text.empty() || text == "off") return std::nullopt;
  auto parsed = parse_speculative_config(text);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  drafter_options out;
  out.config = std::move(*parsed);
  out.max_bytes = settings.drafter_memory;
  out.hash_seed = std::random_device{}();
  return out;
}

// By itself no device needs it: a CUDA device pads decodes to its graphs.
bool pads_to_buckets(const config::settings& settings) {
  return settings.bucket_padding == "on" && !settings.enforce_eager;
}

std::optional<cuda_choice> to_cuda_choice(const config::settings& settings) {
  if (settings.device != "cuda") return std::nullopt;
  return cuda_choice{.device_id = settings.device_id,
                     .memory_utilization = settings.gpu_memory_utilization,
                     .graphs = !settings.enforce_eager,
                     .weights = weight_form_of(settings.gpu_weights),
                     .batch_invariant = settings.batch_invariant};
}

warm_up_mode warm_up_of(const config::settings& settings) {
  if (settings.skip_warmup || settings.enforce_eager) return warm_up_mode::skip;
  if (settings.warmup == "full") return warm_up_mode::full;
  if (settings.warmup == "rows") return warm_up_mode::rows;
  // A device's graphs are captured before somebody waits for one.
  const bool has_graphs = settings.warmup == "auto" && settings.device == "cuda";
  return has_graphs ? warm_up_mode::rows : warm_up_mode::lazy;
}

net::connection_limits to_connection_limits(const config::settings& settings) {
  net::connection_limits out;
  out.max_connections = connections_with_files(settings);
  out.max_body_bytes = settings.max_body_bytes;
  out.max_stream_buffer_bytes = settings.max_stream_buffer_bytes;
  out.header_timeout = settings.header_timeout;
  out.read_timeout = settings.read_timeout;
  out.write_timeout = settings.write_timeout;
  out.idle_timeout = settings.idle_timeout;
  return out;
}

}  // namespace

result<company_options> to_company_options(const config::settings& settings, const std::string& model_path) {
  company_options out;
  auto drafts = to_drafts(settings);
  if (!drafts) return tl::unexpected(std::move(drafts.error()));
  out.drafts = std::move(*drafts);
  auto traces = to_trace_options(settings);
  if (!traces) return tl::unexpected(std::move(traces.error()));
  out.traces = std::move(*traces);
  out.engine.model_path = model_path;
  auto template_arguments = parse_template_arguments(settings.default_chat_template_kwargs);
  if (!template_arguments) return tl::unexpected(std::move(template_arguments.error()));
  out.engine.template_arguments = std::move(*template_arguments);
  out.engine.chat_template_path = settings.chat_template;
  if (settings.reasoning_format != "auto") out.engine.reasons = settings.reasoning_format != "none";
  if (out.drafts && out.drafts->config.method == speculative_method::draft_model)
    out.engine.draft = out.drafts->config;
  if (out.drafts) out.engine.most_guesses = out.drafts->config.num_speculative_tokens;
  out.engine.max_model_len = settings.max_model_len;
  out.engine.max_num_seqs = settings.max_num_seqs;
  out.engine.max_num_batched_tokens = settings.max_num_batched_tokens;
  out.engine.block_size = settings.block_size;
  out.engine.kv_cache_bytes = settings.kv_cache_memory;
  out.engine.kv_cache_dtype = settings.kv_cache_dtype;
  out.engine.memory_utilization = settings.memory_utilization;
  out.engine.threads = settings.threads > 0 ? settings.threads : usable_cores();
  out.engine.kernel_path = settings.kernel_path;
  out.engine.dtype = settings.dtype;
  out.engine.cuda = to_cuda_choice(settings);
  out.engine.cuda_devices = find_cuda_support();
  out.engine.cpu_after_device_loss = settings.on_device_loss == "cpu";
  const tuning_place tuning = find_tuning(settings.tuning_file);
  out.engine.tune = settings.tuning_file != "off";
  out.engine.tuning_file = tuning.file;
  out.engine.tuning_folder = tuning.folder;
  out.engine.bucketing = to_bucketing_options(settings);
  out.engine.pad_to_buckets = pads_to_buckets(settings);
  out.warm_up = warm_up_of(settings);
  out.served_model_name = model_name(model_path);
  if (!settings.served_model_name.empty()) {
    auto names = openai::read_model_names(settings.served_model_name);
    if (!names) return tl::unexpected(std::move(names.error()));
    out.served_model_name = std::move(names->front());
    out.served_aliases.assign(std::next(names->begin()), names->end());
  }
  out.version = TROUPE_VERSION;
  out.cpu = cpu_name();
  out.max_logprobs = settings.max_logprobs;
  out.request_timeout = settings.request_timeout;
  out.step_deadline = settings.step_deadline;
  out.engine.patience_at_start = chaos::cut(patience_for_opening(settings.step_deadline));
  out.queue_timeout = settings.queue_timeout;
  out.scheduling = to_scheduling(settings);
  out.engine.max_steps_in_flight = out.scheduling.max_steps_in_flight;
  out.allow_auto_truncate = settings.allow_auto_truncate;
  out.tokenizer_workers = settings.tokenizer_workers;
  out.grammars = to_grammar_options(settings);
  return out;
}

std::chrono::nanoseconds patience_of(const config::settings& settings) {
  return settings.step_deadline * (settings.runner_isolation == "process" ? 3 : 1);
}

company_limits to_company_limits(const config::settings& settings) {
  company_limits out;
  out.scheduling = to_scheduling(settings);
  out.scheduling.max_num_seqs = settings.max_num_seqs;
  out.scheduling.max_num_batched_tokens = settings.max_num_batched_tokens;
  out.request_timeout = settings.request_timeout;
  out.queue_timeout = settings.queue_timeout;
  out.step_deadline = settings.step_deadline;
  out.connections = to_connection_limits(settings);
  return out;
}

namespace {

net::listen_options to_listen_options(const config::settings& settings, std::int32_t port) {
  net::listen_options out;
  out.host = settings.host;
  out.port = static_cast<std::uint16_t>(port);
  return out;
}

}  // namespace

net::http_options to_http_options(const config::settings& settings) {
  net::http_options out;
  out.listen = to_listen_options(settings, settings.port);
  if (settings.probe_port >= 0) out.probes = to_listen_options(settings, settings.probe_port);
  out.limits = to_connection_limits(settings);
  out.version = TROUPE_VERSION;
  out.max_logprobs = settings.max_logprobs;
  out.cors_origins = net::read_origins(settings.cors_origins).value_or(std::vector<std::string>());
  out.max_header_bytes = settings.max_header_bytes;
  out.max_buffered_bytes = settings.max_buffered_bytes;
  return out;
}

net::tcp_options to_tcp_options(const config::settings& settings) {
  net::tcp_options out;
  out.listen = to_listen_options(settings, settings.tcp_port);
  out.limits = to_connection_limits(settings);
  out.version = TROUPE_VERSION;
  out.max_logprobs = settings.max_logprobs;
  out.max_frame_bytes = settings.max_frame_bytes;
  out.max_buffered_bytes = settings.max_buffered_bytes;
  return out;
}

net::admin_options to_admin_options(const config::settings& settings) {
  net::admin_options out;
  out.listen.host = settings.admin_host;
  out.listen.port = static_cast<std::uint16_t>(settings.admin_port);
  return out;
}

}  // namespace troupe
