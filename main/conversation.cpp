#include "main/conversation.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include "main/exit_code.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::cli {
namespace {

// What the port's threads leave for the one that prints. Shared with the sink, which may outlive the
// question.
struct pending_answer {
  std::mutex mutex;
  std::condition_variable changed;
  std::string text;
  std::optional<finished> end;
};

// Waits for the next text or the end; true while more may come.
bool take(pending_answer& from, std::string& text, std::optional<finished>& end) {
  std::unique_lock lock(from.mutex);
  from.changed.wait(lock, [&] { return !from.text.empty() || from.end.has_value(); });
  text = std::exchange(from.text, {});
  end = from.end;
  return !end.has_value();
}

}  // namespace

answer conversation::ask(const nlohmann::ordered_json& messages, const sampling_params& sampling) {
  answer said = ask_once(messages, sampling);
  const std::optional<error>& refusal = said.end.failure;
  const bool is_too_long = refusal && refusal->code == error_code::context_length_exceeded &&
                           refusal->param == sampling.max_tokens_field;
  if (!is_too_long) return said;
  // So that max_tokens is more than all that is left.
  sampling_params all_that_is_left = sampling;
  all_that_is_left.max_tokens.reset();
  return ask_once(messages, all_that_is_left);
}

answer conversation::ask_once(const nlohmann::ordered_json& messages, const sampling_params& sampling) {
  const auto request = std::make_shared<generation_request>();
  request->prompt = chat_prompt{.messages = messages, .add_generation_prompt = true};
  request->sampling = sampling;
  const auto pending = std::make_shared<pending_answer>();
  {
    const std::lock_guard lock(mutex_);  // an abort waits until there is something to abort
    asking_ = port_.generate(request, [pending](stream_event event) {
      for (const std::string& warning : event.warnings) warn(warning);
      const std::lock_guard pending_lock(pending->mutex);
      pending->text += event.text;
      if (event.end) pending->end = std::move(event.end);
      pending->changed.notify_one();
    });
  }
  answer out;
  std::string text;
  std::optional<finished> end;
  for (bool more = true; more;) {
    more = take(*pending, text, end);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    out.text += text;
  }
  const std::lock_guard lock(mutex_);
  asking_.reset();
  out.end = std::move(*end);
  return out;
}

bool conversation::abort() {
  const std::lock_guard lock(mutex_);
  if (asking_) port_.abort(*asking_);
  return asking_.has_value();
}

}  // namespace troupe::cli
