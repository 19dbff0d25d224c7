#include "actors/company_metrics.hpp"

#include "actors/clients/gateway.hpp"
#include "actors/clients/http_gateway.hpp"
#include "actors/clients/tcp_gateway.hpp"
#include "actors/company.hpp"
#include "actors/drafter/drafter.hpp"
#include "actors/grammars/grammar_compiler.hpp"
#include "actors/grammars/structured_output.hpp"
#include "actors/interfaces.hpp"
#include "actors/kv_cache/kv_cache.hpp"
#include "actors/messaging/expected_messages.hpp"
#include "actors/runner/model_runner.hpp"
#include "actors/scheduler/scheduler.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "actors/tokenizer/tokenizer.hpp"

namespace troupe {
namespace {

template <class Handle, class State>
void expect_messages(metrics::engine_metrics& metrics) {
  expected_messages<Handle>::add_to(metrics, State::name);
}

}  // namespace

std::shared_ptr<metrics::engine_metrics> make_company_metrics(const std::string& model,
                                                              const std::optional<drafter_options>& drafts) {
  metrics::metrics_options named;
  named.model_name = model;
  if (drafts) named.num_speculative_tokens = drafts->config.num_speculative_tokens;
  auto all = std::make_shared<metrics::engine_metrics>(named);
  expect_messages<supervisor_actor, supervisor_state>(*all);
  expect_messages<model_runner_actor, model_runner_state>(*all);
  expect_messages<grammar_compiler_actor, grammar_compiler_state>(*all);
  expect_messages<scheduler_actor, scheduler_state>(*all);
  expect_messages<kv_cache_actor, kv_cache_state>(*all);
  expect_messages<structured_output_actor, structured_output_state>(*all);
  expect_messages<drafter_actor, drafter_state>(*all);
  expect_messages<tokenizer_actor, tokenizer_state>(*all);
  expect_messages<gateway_actor, gateway_state>(*all);
  expect_messages<gateway_actor, http_gateway_state>(*all);
  expect_messages<gateway_actor, tcp_gateway_state>(*all);
  return all;
}

void describe_program(metrics::engine_metrics& metrics, const company_options& options,
                      const std::string& kernel_path) {
  metrics.set_info({.version = options.version,
                    .cpu = options.cpu,
                    .kernel_path = kernel_path,
                    .threads = options.engine.threads});
}

void describe_engine(metrics::engine_metrics& metrics, const company_options& options,
                     const loaded_engine& engine) {
  metrics.set_max_model_len(engine.max_model_len);
  const kv_layout layout = engine.device->layout();
  metrics::cache_config cache;
  cache.block_size = layout.block_size;
  cache.num_blocks = layout.num_blocks;
  cache.dtype = layout.dtype;
  metrics.set_cache_config(cache);
  describe_program(metrics, options, engine.device->kernel_path());
}

}  // namespace troupe
