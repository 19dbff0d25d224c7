#include "tests/actors/net/scripted_engine_fixture.hpp"

#include <utility>

namespace troupe::net::testing {

scripted_engine::scripted_engine(pace how) : pace_(how) {
  if (how == pace::steps) thread_ = std::thread([this] { step_all(); });
}

scripted_engine::~scripted_engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<request_id> scripted_engine::generate_choices(generation_request_ptr request, choice_sink sink) {
  const std::lock_guard lock(mutex_);
  std::vector<request_id> ids;
  for (std::int32_t index = 0; index < request->n; ++index) {
    const request_id id = ++last_;
    seen_[id] = request;
    streams_[id] = {request, [sink, index](stream_event event) { sink(index, std::move(event)); }};
    ids.push_back(id);
  }
  changed_.notify_all();
  return ids;
}

void scripted_engine::abort(request_id id) {
  if (!holds_ends_) std::thread([this, id] { emit(id, last_piece(finish_reason::abort)); }).join();
  {
    const std::lock_guard lock(mutex_);
    aborted_.insert(id);
  }
  changed_.notify_all();
}

void scripted_engine::tokenize(tokenize_request request, std::function<void(result<tokenize_reply>)> reply) {
  if (hold_) {
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(reply));
    ++last_;
    changed_.notify_all();
    return;
  }
  tokenize_reply answer;
  const auto* const text = std::get_if<text_prompt>(&request.prompt);
  const std::size_t length = text != nullptr ? text->text.size() : 3;
  for (std::size_t i = 0; i < length; ++i) answer.tokens.push_back(static_cast<token_id>(i));
  reply(std::move(answer));
}

void scripted_engine::detokenize(std::vector<token_id> tokens,
                                 std::function<void(result<std::string>)> reply) {
  std::thread([count = tokens.size(), reply = std::move(reply)] { reply(std::string(count, 'y')); }).detach();
}

void scripted_engine::describe(request_id id, std::function<void(std::optional<request_state>)> reply) {
  std::optional<request_state> state;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = streams_.find(id); found != streams_.end() && !unscheduled_.contains(id)) {
      state.emplace();
      state->id = id;
      state->phase = request_phase::running;
      state->reason = "running";
      state->generated_tokens = found->second.told;
    }
  }
  reply(std::move(state));
}

void scripted_engine::reset_prefix_cache(std::function<void(bool)> reply) { reply(requests() == 0); }

engine_status scripted_engine::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

model_card scripted_engine::model() const { return {"test-model", 512, 1000, 1234}; }
std::string scripted_engine::metrics_text() const { return "troupe_info 1\n"; }
std::string scripted_engine::token_text(token_id id) const { return "t" + std::to_string(id); }

void scripted_engine::set_status(engine_status status) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

void scripted_engine::set_word(std::string word) {
  const std::lock_guard lock(mutex_);
  word_ = std::move(word);
}

void scripted_engine::leave_scheduler(request_id id) {
  const std::lock_guard lock(mutex_);
  unscheduled_.insert(id);
}

void scripted_engine::hold_ends() { holds_ends_ = true; }

void scripted_engine::release_ends() {
  std::set<request_id> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = aborted_;
  }
  for (const request_id id : ended) emit(id, last_piece(finish_reason::abort));
}

void scripted_engine::hold_text_calls() { hold_ = true; }

request_id scripted_engine::wait_for_request(std::size_t n) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return last_ >= n; });
  return n;
}

void scripted_engine::emit(request_id id, stream_event event) {
  const std::lock_guard in_order(delivery_);
  stream_sink sink;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    sink = found->second.sink;
    if (event.end) streams_.erase(found);
  }
  event.id = id;
  sink(std::move(event));
  changed_.notify_all();
}

void scripted_engine::wait_for_abort(request_id id) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return aborted_.contains(id); });
}

std::size_t scripted_engine::requests() const {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

std::size_t scripted_engine::aborts() const {
  const std::lock_guard lock(mutex_);
  return aborted_.size();
}

std::size_t scripted_engine::running() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

void scripted_engine::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return streams_.empty(); });
}

generation_request_ptr scripted_engine::request_of(request_id id) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(id);
  return found == seen_.end() ? nullptr : found->second;
}

stream_sink scripted_engine::sink_of(request_id id) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.sink;
}

void scripted_engine::step_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !streams_.empty(); });
    if (stopping_) return;
    std::vector<request_id> ids;
    for (const auto& [id, state] : streams_) ids.push_back(id);
    for (const request_id id : ids) {
      const auto found = streams_.find(id);
      if (found == streams_.end()) continue;
      stream_event event = piece(word_, found->second.told);
      if (found->second.told == 0) event.prompt_tokens = {5, 6, 7};
      const std::int32_t most = found->second.request->sampling.max_tokens.value_or(4);
      ++found->second.told;
      if (found->second.told >= most) {
        event.end = finished{finish_reason::length, {}, {}, {}, {3, found->second.told}};
      }
      lock.unlock();
      emit(id, std::move(event));
      lock.lock();
    }
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

stream_event piece(std::string text, token_id token) {
  stream_event event;
  event.text = std::move(text);
  event.tokens = {token};
  return event;
}

stream_event last_piece(finish_reason reason, std::string text) {
  stream_event event;
  event.text = std::move(text);
  event.end = finished{reason, {}, {}, {}, {3, 2}};
  return event;
}

stream_event failed(error failure) {
  stream_event event;
  event.end = finished{finish_reason::error, {}, {}, std::move(failure), {}};
  return event;
}

}  // namespace troupe::net::testing
