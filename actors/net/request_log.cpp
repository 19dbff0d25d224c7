#include "actors/net/request_log.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

#include "runtime/openai/answer_parts.hpp"
#include "runtime/openai/error_body.hpp"

namespace troupe::net {
namespace {

double milliseconds(request_log::clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

request_log::request_log(std::string name, std::string model, std::int32_t choices)
    : name_(std::move(name)), model_(std::move(model)), choices_(static_cast<std::size_t>(choices)) {}

request_log::~request_log() {
  try {
    write();
  } catch (const std::exception&) {  // no memory for a line: the request itself is not the worse for it
  }
}

void request_log::write() const {
  if (failure_ && !first_token_) return log_refusal(name_, refusal_text(*failure_));
  usage all;
  std::string reasons;
  for (const choice& each : choices_) {
    openai::add_choice(all, each.tokens);
    reasons += reasons.empty() ? "" : ",";
    reasons += to_string(each.reason.value_or(finish_reason::abort));
  }
  const std::string first =
      first_token_ ? fmt::format(" ttft_ms={:.1f}", milliseconds(*first_token_ - begin_)) : "";
  spdlog::info(
      "request {}: model={} prompt_tokens={} cached_tokens={} completion_tokens={} finish_reason={}{} "
      "total_ms={:.1f}",
      name_, model_, all.prompt_tokens, all.cached_tokens, all.completion_tokens, reasons, first,
      milliseconds(clock::now() - begin_));
}

void request_log::add(std::size_t index, const stream_event& event) {
  choice& of = choices_[index];
  if (!event.tokens.empty() && !first_token_) first_token_ = clock::now();
  if (!event.prompt_tokens.empty())
    of.tokens.prompt_tokens = static_cast<std::int32_t>(event.prompt_tokens.size());
  of.tokens.completion_tokens += static_cast<std::int32_t>(event.tokens.size());
  if (!event.end) return;
  of.tokens = event.end->tokens;
  of.reason = event.end->reason;
  if (event.end->failure && !failure_) failure_ = event.end->failure;
}

std::string refusal_text(const error& failure) {
  return fmt::format("status={} code={}{}{}", openai::http_status(failure.code), openai::error_word(failure),
                     failure.param.empty() ? "" : " param=", failure.param);
}

void log_refusal(std::string_view name, std::string_view text) {
  spdlog::info("request {}: refused {}", name, text);
}

}  // namespace troupe::net
