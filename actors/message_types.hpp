// What CAF (here 0.17) has to know of each message: its name and fields, for logs, and its number.
#pragma once
#include <caf/all.hpp>
#include <string>

#include "actors/messages.hpp"

namespace troupe {

template <class Inspector>
auto inspect(Inspector& f, block_release& x) {
  return f(caf::meta::type_name("block_release"), x.id, x.last_step, x.preempted, x.place);
}
template <class Inspector>
auto inspect(Inspector& f, token_append& x) {
  return f(caf::meta::type_name("token_append"), x.id, x.count, x.place);
}
template <class Inspector>
auto inspect(Inspector& f, block_trim& x) {
  return f(caf::meta::type_name("block_trim"), x.id, x.num_tokens, x.place);
}

namespace msg {

template <class Inspector>
auto inspect(Inspector& f, open_stream& x) {
  return f(caf::meta::type_name("open_stream"), x.id, x.index, x.first);
}
template <class Inspector>
auto inspect(Inspector& f, generate& x) {
  return f(caf::meta::type_name("generate"), x.id, x.arrival, x.index, x.first, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, submit& x) {
  return f(caf::meta::type_name("submit"), x.id, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, add_sequence& x) {
  return f(caf::meta::type_name("add_sequence"), x.id, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, open_grammar& x) {
  return f(caf::meta::type_name("open_grammar"), x.id, x.tenant, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, grammar_opened& x) {
  return f(caf::meta::type_name("grammar_opened"), x.id);
}
template <class Inspector>
auto inspect(Inspector& f, release_grammars& x) {
  return f(caf::meta::type_name("release_grammars"), x.ids, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, prepare_masks& x) {
  return f(caf::meta::type_name("prepare_masks"), x.ids, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, masks_prepared& x) {
  return f(caf::meta::type_name("masks_prepared"), x.ids);
}
template <class Inspector>
auto inspect(Inspector& f, compile_grammar& x) {
  return f(caf::meta::type_name("compile_grammar"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, grammar_compiled& x) {
  return f(caf::meta::type_name("grammar_compiled"), x.nanoseconds);
}
template <class Inspector>
auto inspect(Inspector& f, fill_masks& x) {
  return f(caf::meta::type_name("fill_masks"), x.step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, apply_masks& x) {
  return f(caf::meta::type_name("apply_masks"), x.step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, structured_output_counts& x) {
  return f(caf::meta::type_name("structured_output_counts"), x.open, x.waiting);
}
template <class Inspector>
auto inspect(Inspector& f, abort& x) {
  return f(caf::meta::type_name("abort"), x.id, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, describe& x) {
  return f(caf::meta::type_name("describe"), x.id);
}
template <class Inspector>
auto inspect(Inspector& f, reset_prefix_cache&) {
  return f(caf::meta::type_name("reset_prefix_cache"));
}
template <class Inspector>
auto inspect(Inspector& f, convert_text&) {
  return f(caf::meta::type_name("convert_text"));
}
template <class Inspector>
auto inspect(Inspector& f, reserve_step& x) {
  return f(caf::meta::type_name("reserve_step"), x.step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, commit_step& x) {
  return f(caf::meta::type_name("commit_step"), x.step, x.appends, x.appended, x.trims, x.releases, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, release_blocks& x) {
  return f(caf::meta::type_name("release_blocks"), x.releases, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, open_drafts& x) {
  return f(caf::meta::type_name("open_drafts"), x.id, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, observe_tokens& x) {
  return f(caf::meta::type_name("observe_tokens"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, propose_drafts& x) {
  return f(caf::meta::type_name("propose_drafts"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, filter_drafts& x) {
  return f(caf::meta::type_name("filter_drafts"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, index_drafts&) {
  return f(caf::meta::type_name("index_drafts"));
}
template <class Inspector>
auto inspect(Inspector& f, step_cost& x) {
  return f(caf::meta::type_name("step_cost"), x.rows, x.context, x.is_random, x.nanoseconds, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, forget_step_costs& x) {
  return f(caf::meta::type_name("forget_step_costs"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, run_step& x) {
  return f(caf::meta::type_name("run_step"), x.step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, step_done& x) {
  return f(caf::meta::type_name("step_done"), x.step, x.nanoseconds);
}
template <class Inspector>
auto inspect(Inspector& f, first_step& x) {
  return f(caf::meta::type_name("first_step"), x.id, x.grammar_wait);
}
template <class Inspector>
auto inspect(Inspector& f, token_output& x) {
  return f(caf::meta::type_name("token_output"), x.step, x.step_began, x.scheduled, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, stream_output& x) {
  return f(caf::meta::type_name("stream_output"), x.step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, stopped& x) {
  return f(caf::meta::type_name("stopped"), x.ids, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, expire&) {
  return f(caf::meta::type_name("expire"));
}
template <class Inspector>
auto inspect(Inspector& f, drafts_due&) {
  return f(caf::meta::type_name("drafts_due"));
}
template <class Inspector>
auto inspect(Inspector& f, meet& x) {
  return f(caf::meta::type_name("meet"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, runner_lost& x) {
  return f(caf::meta::type_name("runner_lost"), x.was_killed, x.was_for_nobody, x.lacked_memory, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, runner_missed& x) {
  return f(caf::meta::type_name("runner_missed"), x.is_excused, x.runs_on, x.has_served, x.rows);
}
template <class Inspector>
auto inspect(Inspector& f, open_device& x) {
  return f(caf::meta::type_name("open_device"), x.proof_rows, x.has_drafter, x.most_blocks, x.least_blocks,
           x.number);
}
template <class Inspector>
auto inspect(Inspector& f, device_opened& x) {
  return f(caf::meta::type_name("device_opened"), x.num_blocks, x.cache_dtype, x.kernel_path);
}
template <class Inspector>
auto inspect(Inspector& f, lose_storage& x) {
  return f(caf::meta::type_name("lose_storage"), x.last_step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, lose_steps& x) {
  return f(caf::meta::type_name("lose_steps"), x.last_step, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, abandon_masks& x) {
  return f(caf::meta::type_name("abandon_masks"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, warm_up& x) {
  return f(caf::meta::type_name("warm_up"), x.item, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, warmed_up& x) {
  return f(caf::meta::type_name("warmed_up"), x.item, x.nanoseconds, x.succeeded, x.is_over);
}
template <class Inspector>
auto inspect(Inspector& f, continue_warm_up&) {
  return f(caf::meta::type_name("continue_warm_up"));
}
template <class Inspector>
auto inspect(Inspector& f, take_stock& x) {
  return f(caf::meta::type_name("take_stock"), x.is_for_all, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, send_again& x) {
  return f(caf::meta::type_name("send_again"), x.first, x.count, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, still_open& x) {
  return f(caf::meta::type_name("still_open"), x.ids, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, collect_tokens&) {
  return f(caf::meta::type_name("collect_tokens"));
}
template <class Inspector>
auto inspect(Inspector& f, look_after_device&) {
  return f(caf::meta::type_name("look_after_device"));
}
template <class Inspector>
auto inspect(Inspector& f, start_next_runner&) {
  return f(caf::meta::type_name("start_next_runner"));
}
template <class Inspector>
auto inspect(Inspector& f, start_company&) {
  return f(caf::meta::type_name("start_company"));
}
template <class Inspector>
auto inspect(Inspector& f, add_gateway& x) {
  return f(caf::meta::type_name("add_gateway"), x.name, x.kind);
}
template <class Inspector>
auto inspect(Inspector& f, company_failed& x) {
  return f(caf::meta::type_name("company_failed"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, close_doors& x) {
  return f(caf::meta::type_name("close_doors"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, drain& x) {
  return f(caf::meta::type_name("drain"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, drained& x) {
  return f(caf::meta::type_name("drained"), x.aborted);
}
template <class Inspector>
auto inspect(Inspector& f, company_drained& x) {
  return f(caf::meta::type_name("company_drained"), x.outcome, x.aborted);
}
template <class Inspector>
auto inspect(Inspector& f, connections_closed&) {
  return f(caf::meta::type_name("connections_closed"));
}
template <class Inspector>
auto inspect(Inspector& f, abandon_connections& x) {
  return f(caf::meta::type_name("abandon_connections"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, abort_all& x) {
  return f(caf::meta::type_name("abort_all"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, end_grace&) {
  return f(caf::meta::type_name("end_grace"));
}
template <class Inspector>
auto inspect(Inspector& f, drain_company& x) {
  return f(caf::meta::type_name("drain_company"), x.grace);
}
template <class Inspector>
auto inspect(Inspector& f, reload& x) {
  return f(caf::meta::type_name("reload"), x.number);
}
template <class Inspector>
auto inspect(Inspector& f, describe_company&) {
  return f(caf::meta::type_name("describe_company"));
}
template <class Inspector>
auto inspect(Inspector& f, count&) {
  return f(caf::meta::type_name("count"));
}
template <class Inspector>
auto inspect(Inspector& f, gateway_counts& x) {
  return f(caf::meta::type_name("gateway_counts"), x.streams);
}
template <class Inspector>
auto inspect(Inspector& f, tokenizer_counts& x) {
  return f(caf::meta::type_name("tokenizer_counts"), x.streams);
}
template <class Inspector>
auto inspect(Inspector& f, kv_cache_counts& x) {
  return f(caf::meta::type_name("kv_cache_counts"), x.blocks, x.free_blocks, x.consistent);
}
template <class Inspector>
auto inspect(Inspector& f, request_counts& x) {
  return f(caf::meta::type_name("request_counts"), x.running, x.waiting, x.preemptions, x.draft_tokens,
           x.accepted_tokens);
}

// "submit" for msg::submit, as its inspect() has it.
struct message_namer {
  template <class... Fields>
  std::string operator()(caf::meta::type_name_t name, Fields&&...) const {
    return name.value;
  }
};
template <class Message>
std::string message_name() {
  message_namer namer;
  Message blank{};
  return inspect(namer, blank);
}

}  // namespace msg
using msg::message_name;
}  // namespace troupe

// Far behind CAF's first free number, so that a foreign system's own types keep theirs.
CAF_BEGIN_TYPE_ID_BLOCK(troupe, 4200)
CAF_ADD_TYPE_ID(troupe, (troupe::msg::open_stream))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::generate))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::submit))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::add_sequence))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::abort))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::describe))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::reset_prefix_cache))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::convert_text))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::reserve_step))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::commit_step))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::release_blocks))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::run_step))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::step_done))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::token_output))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::stream_output))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::stopped))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::expire))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::drafts_due))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::meet))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::runner_lost))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::runner_missed))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::open_device))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::device_opened))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::lose_storage))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::lose_steps))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::abandon_masks))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::warm_up))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::warmed_up))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::continue_warm_up))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::look_after_device))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::start_next_runner))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::collect_tokens))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::start_company))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::add_gateway))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::company_failed))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::close_doors))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::drain))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::drained))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::company_drained))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::connections_closed))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::abandon_connections))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::abort_all))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::end_grace))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::drain_company))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::describe_company))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::reload))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::count))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::gateway_counts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::tokenizer_counts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::kv_cache_counts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::request_counts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::open_grammar))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::grammar_opened))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::release_grammars))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::prepare_masks))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::masks_prepared))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::compile_grammar))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::grammar_compiled))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::fill_masks))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::apply_masks))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::structured_output_counts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::open_drafts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::observe_tokens))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::propose_drafts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::filter_drafts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::index_drafts))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::step_cost))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::forget_step_costs))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::take_stock))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::send_again))
CAF_ADD_TYPE_ID(troupe, (troupe::msg::still_open))
CAF_END_TYPE_ID_BLOCK(troupe)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::company_roster_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::generation_request_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::engine_request_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_demand_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_reservation_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::draft_news_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::draft_work_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::drafts_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::held_drafts_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_batch_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_result_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::warm_up_task_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::token_batch_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stream_batch_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::client_stream_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::text_call_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::describe_call_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::reset_call_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::company_call_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::reload_call_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::company_limits_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::grammar_spec_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::error_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::compile_outcome_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_masks_ptr)
