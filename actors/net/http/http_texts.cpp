// The answers of http_connection for which the tokenizer is asked.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/http/http_connection.hpp"
#include "actors/net/http/http_replies.hpp"
#include "runtime/openai/tokenize.hpp"
#include "runtime/openai/tokenize_answer.hpp"

namespace troupe::net {
namespace {

constexpr std::size_t piece_bytes = 256U << 10U;

}  // namespace

template <class Parsed>
asio::awaitable<result<Parsed>> http_connection::parse_text(json& body, text_parser<Parsed>* parser) {
  const model_card model = shared_->port.model();
  result<Parsed> parsed;
  const std::function<void()> parse = [&] {
    parsed = parser(body, {.model = model.id, .vocab_size = model.vocab_size, .aliases = model.aliases});
    body = nullptr;
  };
  co_await on_body(parse);
  co_return parsed;
}

asio::awaitable<bool> http_connection::tokenize(json& body, byte_budget::share& held) {
  auto parsed = co_await parse_text(body, openai::parse_tokenize);
  if (gone_) co_return false;
  if (!parsed) {
    const http_response refusal = error_response(parsed.error());
    co_return co_await respond(refusal);
  }
  const bool with_strings = parsed->return_token_strs;
  const question<tokenize_reply> ask = [this, &parsed](auto answer) {
    shared_->port.tokenize(std::move(*parsed), std::move(answer));
  };
  auto reply = co_await reply_to<tokenize_reply>(ask);
  if (!reply) co_return false;
  if (*reply && !held.hold((*reply)->tokens.size() * sizeof(token_id)))
    *reply = tl::unexpected(too_many_large_bodies);
  if (!*reply) {
    const http_response refusal = error_response(reply->error());
    co_return co_await respond(refusal);
  }
  openai::token_namer text_of;
  if (with_strings) text_of = [&port = shared_->port](token_id id) { return port.token_text(id); };
  openai::tokenize_answer answer(std::move((*reply)->tokens), std::move(text_of),
                                 shared_->port.model().max_model_len);
  const std::function<std::string()> next = [&answer] { return answer.next(piece_bytes); };
  if (body_bytes_ >= background_worker::large_text) co_return co_await respond_in_pieces(next);
  http_response response;
  for (std::string piece = next(); !piece.empty(); piece = next()) response.body += piece;
  co_return co_await respond(response);
}

asio::awaitable<bool> http_connection::respond_in_pieces(const std::function<std::string()>& next) {
  const bool chunked = request_.version != 10;
  if (!chunked) request_.keep_alive = false;
  const http_response response;
  prepare(response);
  std::string text = response_head(response, chunked ? "Transfer-Encoding: chunked" : "", request_);
  bool ended = false;
  const std::function<void()> work = [&] {
    const std::string piece = next();
    ended = piece.empty();
    if (ended) {
      text += chunked ? last_chunk : "";
    } else if (chunked) {
      append_chunk(text, piece);
    } else {
      text += piece;
    }
  };
  while (!ended) {
    co_await shared_->background.run(context_, piece_bytes, gone_, work);
    if (gone_) co_return false;
    const bool written = co_await write(text);
    if (!written) co_return false;
    text.clear();
  }
  co_return request_.keep_alive;
}

asio::awaitable<bool> http_connection::detokenize(json& body, byte_budget::share& held) {
  auto tokens = co_await parse_text(body, openai::parse_detokenize);
  if (gone_) co_return false;
  if (!tokens) {
    const http_response refusal = error_response(tokens.error());
    co_return co_await respond(refusal);
  }
  const question<std::string> ask = [this, &tokens](auto answer) {
    shared_->port.detokenize(std::move(*tokens), std::move(answer));
  };
  auto reply = co_await reply_to<std::string>(ask);
  if (!reply) co_return false;
  // The text, as JSON, and behind its header; more where its characters are long in JSON.
  if (*reply && !held.hold(3 * (*reply)->size())) *reply = tl::unexpected(too_many_large_bodies);
  http_response response;
  if (!*reply) {
    response = error_response(reply->error());
    co_return co_await respond(response);
  }
  const std::function<void()> write_body = [&] {
    response.body = openai::detokenize_answer(**reply);
    std::string().swap(**reply);
  };
  co_await on_body(write_body);
  if (gone_) co_return false;
  if (!held.hold(2 * response.body.size())) response = error_response(too_many_large_bodies);
  prepare(response);
  std::string text;
  const std::function<void()> write_out = [&] {
    text = serialize(response, request_);
    std::string().swap(response.body);
  };
  co_await on_body(write_out);
  if (gone_) co_return false;
  co_return co_await send(text);
}

}  // namespace troupe::net
