// One HTTP client: reads requests one after another, answers each before it reads the next.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/net/engine_port.hpp"
#include "actors/net/http/http_exchange.hpp"
#include "actors/net/http/http_message.hpp"
#include "actors/net/http/http_routes.hpp"
#include "actors/net/http/http_shared.hpp"
#include "actors/net/http/sse_stream.hpp"
#include "actors/net/sockets/byte_budget.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/openai/prompt_echo.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::net {

class http_connection final : public http_exchange, public std::enable_shared_from_this<http_connection> {
 public:
  http_connection(asio::io_context& context, tcp::socket socket, std::shared_ptr<http_shared> shared);
  std::optional<std::chrono::steady_clock::time_point> unauthenticated_since() const override;
  // A server may close such a connection at any time (RFC 9112, 9.5).
  std::optional<std::chrono::steady_clock::time_point> idle_since() const override { return waiting_since(); }

 private:
  // Puts a question to the engine, whose answer goes to the function handed in.
  template <class Reply>
  using question = std::function<void(std::function<void(result<Reply>)>)>;

  // As http_exchange has it.
  asio::awaitable<bool> serve_request() override;
  void note_header(const request_header& header) override;
  // What needs no body to be answered: who may not ask for this, or not so, and a browser that asks whether
  // it may.
  std::optional<http_response> answer_header(const std::optional<route>& found, request_parser& parser);
  std::optional<http_response> refuse_unauthorized(const std::optional<route>& found,
                                                   const request_header& header);
  std::optional<http_response> refuse_page(const route& found, const request_header& header) const;
  static std::optional<http_response> refuse_body(request_parser& parser);
  // `held`: for the body, and then for what tokenizing makes of it, until that is written.
  asio::awaitable<bool> answer_post(resource target, result<json>& body, byte_budget::share& held);
  asio::awaitable<bool> generate(resource target, json& body);
  // `requests`: of each prompt; taken.
  asio::awaitable<bool> answer_whole(std::vector<generation_request>& requests, const answer_plan& plan,
                                     const openai::prompt_echo& echo);
  asio::awaitable<bool> answer_stream(std::vector<generation_request>& requests, const answer_plan& plan,
                                      const openai::prompt_echo& echo);
  asio::awaitable<bool> tokenize(json& body, byte_budget::share& held);
  asio::awaitable<bool> detokenize(json& body, byte_budget::share& held);
  asio::awaitable<bool> describe_request(const std::string& name);
  asio::awaitable<bool> reset_prefix_cache();
  // Waits for the one answer that `ask` hands on; nothing where the client has left meanwhile.
  template <class Reply>
  asio::awaitable<std::optional<result<Reply>>> reply_to(const question<Reply>& ask);

  // What is known of the request by its header.
  request_report begun_report() const;
  void note_refusal(const http_response& response) const override;
  // Waits until something has happened; false where the client has left. Where it has only ended its sending
  // side it is probed with the beginning of its answer, or with `comment` where that has begun.
  asio::awaitable<bool> wait_for_news(const std::string& comment);

  // While an answer is made nothing is read but to see the client leave; what it sends early is kept for
  // later. An end of the client's sending side may be either: it has left, or it waits for its answer as
  // `nc -N` does. Bytes that we send then tell the two apart: a system whose program has left resets the
  // connection. Where more has come early than is kept, reading would not meet the end: it is looked for.
  void watch_client();
  void watch_for_reset();
  void watch_from_afar();
  asio_error look_for_end();
  void watched(asio_error failure);
  asio::awaitable<void> stop_watching();

  template <class Item>
  std::shared_ptr<mailbox<Item>> open_mailbox(std::size_t max_bytes);
  // Empties `body`. Errors: unavailable where the engine is not ready; those of the parser.
  asio::awaitable<result<openai::parsed_request>> parse_ready(resource target, json& body,
                                                              const model_card& model);
  template <class Parsed>
  using text_parser = result<Parsed>(const json& body, const openai::request_context& context);
  // Empties `body`. Errors: those of the parser.
  template <class Parsed>
  asio::awaitable<result<Parsed>> parse_text(json& body, text_parser<Parsed>* parser);
  // Answers with what `next` gives until it gives nothing, each piece made in the background and written
  // before the next one.
  asio::awaitable<bool> respond_in_pieces(const std::function<std::string()>& next);
  // Does `work` on the body, or on what came of it: now, or in the background where the body is large.
  asio::awaitable<void> on_body(const std::function<void()>& work);
  // "chatcmpl-", "cmpl-" or "resp_" and the client's name for the request, or one that is drawn.
  result<std::string> name_request(const openai::parsed_request& parsed);
  request_report report_of(const generation_request& request, const answer_plan& plan) const;
  answer_plan plan_answer(openai::answer_options options, bool with_logprobs, std::string model,
                          std::string name);

  std::shared_ptr<http_shared> shared_;
  const std::chrono::steady_clock::time_point connected_ = std::chrono::steady_clock::now();
  bool is_known_ = false;  // its last request had a right key, or needed none
  asio::cancellation_signal stop_watch_;
  bool tracked_ = false;                               // the request has a report of its own
  std::chrono::steady_clock::time_point came_{};       // its first byte
  std::size_t body_bytes_ = 0;                         // of the request, and ...
  std::chrono::steady_clock::time_point body_came_{};  // ... when all of it was there
  asio::steady_timer next_look_{context_};
  bool end_is_near_ = false;  // behind bytes that are not read yet the client has ended its sending
  bool watching_ = false;
  bool want_watch_ = false;
  bool probe_due_ = false;  // the client sends nothing more and has not been probed
};

}  // namespace troupe::net
