// The answers of http_connection that wait for the engine; those of its tokenizer: http_texts.cpp.
#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "actors/net/http/http_connection.hpp"
#include "actors/net/http/http_generation.hpp"
#include "actors/net/http/http_replies.hpp"
#include "actors/net/telemetry/request_tracker.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/openai/answer_collector.hpp"
#include "runtime/openai/prompt_echo.hpp"
#include "runtime/openai/request_status.hpp"
#include "runtime/openai/responses/response_request.hpp"

namespace troupe::net {
namespace {

result<openai::parsed_request> parse_body(resource target, json body,
                                          const openai::request_context& context) {
  if (target == resource::response) return openai::parse_response(std::move(body), context);
  return target == resource::chat ? openai::parse_chat(body, context)
                                  : openai::parse_completion(body, context);
}

// What the names of such answers begin with. Some clients look for it.
std::string_view name_prefix(openai::answer_kind kind) {
  switch (kind) {
    case openai::answer_kind::chat:
      return "chatcmpl-";
    case openai::answer_kind::response:
      return "resp_";
    case openai::answer_kind::completion:
      break;
  }
  return "cmpl-";
}

usage tokens_of(const request_state& known) {
  return {known.prompt_tokens, known.generated_tokens, known.cached_tokens};
}

}  // namespace

asio::awaitable<bool> http_connection::answer_post(resource target, result<json>& body,
                                                   byte_budget::share& held) {
  if (!body) {
    const http_response refusal = error_response(body.error());
    co_return co_await respond(refusal);
  }
  if (target == resource::tokenize) co_return co_await tokenize(*body, held);
  if (target == resource::detokenize) co_return co_await detokenize(*body, held);
  held.release();
  co_return co_await generate(target, *body);
}

asio::awaitable<bool> http_connection::generate(resource target, json& body) {
  const model_card model = shared_->port.model();
  auto parsed = co_await parse_ready(target, body, model);
  if (gone_) co_return false;
  if (!parsed) {
    const http_response refusal = error_response(parsed.error());
    co_return co_await respond(refusal);
  }
  const auto name = name_request(*parsed);
  if (!name) {
    const http_response refusal = error_response(name.error());
    co_return co_await respond(refusal);
  }
  if (request_.id.empty()) request_.id = *name;
  const bool with_logprobs = parsed->generation.sampling.logprobs.has_value();
  answer_plan plan = plan_answer(parsed->answer, with_logprobs, model.id, *name);
  plan.identity.echoed_members = std::move(parsed->echoed_members);
  const openai::prompt_echo echo(*parsed, plan.name);
  std::vector<generation_request> requests = std::move(parsed->further);
  requests.insert(requests.begin(), std::move(parsed->generation));
  if (plan.options.stream) co_return co_await answer_stream(requests, plan, echo);
  co_return co_await answer_whole(requests, plan, echo);
}

asio::awaitable<result<openai::parsed_request>> http_connection::parse_ready(resource target, json& body,
                                                                             const model_card& model) {
  result<openai::parsed_request> parsed;
  const engine_status status = shared_->port.status();
  if (!status.takes_requests()) {
    parsed = fail(error_code::unavailable, status.reason.empty() ? "not ready" : status.reason);
    co_return parsed;
  }
  const openai::request_context context{model.id, model.vocab_size, shared_->options.max_logprobs,
                                        shared_->random(), model.aliases};
  const std::function<void()> parse = [&] {
    parsed = parse_body(target, std::exchange(body, nullptr), context);
  };
  co_await on_body(parse);
  // A proxy in front knows its tenants better than they themselves.
  if (parsed && request_.tenant.size() > openai::max_user_bytes)
    parsed = fail(error_code::invalid_argument,
                  fmt::format("X-Tenant is longer than {} bytes", openai::max_user_bytes), "X-Tenant");
  if (parsed) {
    const auto passed = std::chrono::steady_clock::now() - body_came_;
    parsed->for_each_generation([&](generation_request& each) {
      if (!request_.tenant.empty()) each.user = request_.tenant;
      shorten_timeout(each, passed);
    });
  }
  co_return parsed;
}

result<std::string> http_connection::name_request(const openai::parsed_request& parsed) {
  const std::string_view prefix = name_prefix(parsed.answer.kind);
  if (!parsed.request_id.empty()) {
    std::string name = fmt::format("{}{}", prefix, parsed.request_id);
    if (!shared_->requests.contains(name)) return name;
    return fail(error_code::invalid_argument,
                fmt::format("request_id {} names a request that is under way", parsed.request_id),
                "request_id");
  }
  std::string name = fmt::format("{}{}", prefix, request_.request_id);
  // Proxies and retries send one X-Request-Id more than once: then it is no name.
  if (!request_.request_id.empty() && !shared_->requests.contains(name)) return name;
  return draw_name(prefix, shared_->random);
}

answer_plan http_connection::plan_answer(openai::answer_options options, bool with_logprobs,
                                         std::string model, std::string name) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  answer_plan plan{
      {}, options, with_logprobs, [&port = shared_->port](token_id id) { return port.token_text(id); }};
  plan.identity.id = std::move(name);
  plan.identity.model = std::move(model);
  if (options.tool_calls || options.kind == openai::answer_kind::response)
    plan.identity.call_id = shared_->random();
  plan.identity.created = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return plan;
}

request_report http_connection::report_of(const generation_request& request, const answer_plan& plan) const {
  request_report report = begun_report();
  report.id = plan.identity.id;
  report.model = plan.identity.model;
  report.wishes = wishes_of(request, plan.options);
  return report;
}

asio::awaitable<bool> http_connection::answer_whole(std::vector<generation_request>& requests,
                                                    const answer_plan& plan,
                                                    const openai::prompt_echo& echo) {
  const request_report begun = report_of(requests.front(), plan);
  http_generation generation(*shared_, requests, open_mailbox<tagged_event>(unbounded_mailbox), begun);
  tracked_ = true;
  const auto answer =
      openai::make_answer_collector(plan.identity, plan.options, plan.with_logprobs, plan.name);
  while (!answer->complete()) {
    const bool listening = co_await wait_for_news(no_comment);
    if (!listening) co_return false;
    for (tagged_event& entry : generation.take()) {
      echo.add_to(entry.stream, entry.event);
      answer->add(entry.stream, std::move(entry.event));
    }
  }
  co_await stop_watching();
  http_response response;
  if (const error* const failure = answer->failure()) {
    response = error_response(*failure);
  } else {
    response.body = answer->body();
  }
  co_return co_await respond(response);
}

asio::awaitable<bool> http_connection::answer_stream(std::vector<generation_request>& requests,
                                                     const answer_plan& plan,
                                                     const openai::prompt_echo& echo) {
  if (ending_ || request_.version == 10) request_.keep_alive = false;
  const std::size_t most_waiting = shared_->options.limits.max_stream_buffer_bytes;
  const request_report begun = report_of(requests.front(), plan);
  http_generation generation(*shared_, requests, open_mailbox<tagged_event>(most_waiting), begun);
  tracked_ = true;
  sse_stream stream(plan, request_);
  while (!stream.ended()) {
    const bool listening = co_await wait_for_news(stream.comment());
    if (!listening) co_return false;
    std::vector<tagged_event> arrived = generation.take();
    for (tagged_event& entry : arrived) echo.add_to(entry.stream, entry.event);
    const std::string text = stream.encode(arrived);
    if (text.empty()) continue;
    const bool written = co_await write(text);
    if (!written) co_return false;
  }
  co_await stop_watching();
  if (!stream.refusal()) co_return request_.keep_alive;
  const http_response refusal = error_response(*stream.refusal());
  co_return co_await respond(refusal);
}

asio::awaitable<bool> http_connection::describe_request(const std::string& name) {
  using state = std::optional<request_state>;
  const auto asked = shared_->requests.find(name);
  std::vector<state> known;
  for (std::size_t index = 0; asked && index < asked->size(); ++index) {
    const request_id id = (*asked)[index].id;
    const question<state> ask = [this, id](const auto& answer) {
      shared_->port.describe(id, [answer](state reply) { answer(std::move(reply)); });
    };
    const auto reply = co_await reply_to<state>(ask);
    if (!reply) co_return false;
    known.push_back(**reply);
    if (known.back() && known.back()->phase == request_phase::running)
      shared_->requests.told(name, id, tokens_of(*known.back()));
  }
  http_response response;
  // It may have got further meanwhile, or have ended and left its name to another one.
  const auto listed = shared_->requests.find(name);
  if (asked && listed && asked->front().id == listed->front().id) {
    std::vector<openai::choice_status> choices;
    for (std::size_t index = 0; index < known.size(); ++index)
      choices.push_back({std::move(known[index]), (*listed)[index].told, (*listed)[index].ended});
    response.body = openai::request_status_answer(name, shared_->port.model().id, choices);
  } else {
    response = error_response({error_code::not_found,
                               "no request of this id is under way; an id is the answer's \"id\", or the "
                               "X-Request-Id header with its chatcmpl-, cmpl- or resp_ before it",
                               "id"});
  }
  co_return co_await respond(response);
}

asio::awaitable<bool> http_connection::reset_prefix_cache() {
  const question<bool> ask = [this](const auto& answer) {
    shared_->port.reset_prefix_cache([answer](bool done) { answer(done); });
  };
  const auto reply = co_await reply_to<bool>(ask);
  if (!reply) co_return false;
  http_response response{.body = R"({"status":"ok"})"};
  if (!**reply)
    response = error_response(
        {error_code::unavailable,
         "the cached prefixes are forgotten, but running requests still hold blocks of them; try "
         "again when they have ended"});
  co_return co_await respond(response);
}

}  // namespace troupe::net
