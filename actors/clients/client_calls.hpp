// What a client waits for, wrapped so that it is answered exactly once whatever becomes of the actor that
// holds it.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/clients/open_clients.hpp"
#include "actors/net/admin/company_report.hpp"
#include "actors/net/call_back.hpp"
#include "actors/net/engine_port.hpp"
#include "runtime/request.hpp"
#include "runtime/request_state.hpp"
#include "runtime/result.hpp"
#include "runtime/stream.hpp"

namespace troupe {
namespace metrics {
class engine_metrics;
}

// One client's stream at its gateway. Any thread. An end with an error is counted here, where the client
// hears of it, whoever has brought it about.
class client_stream {
 public:
  // Is among `clients`, and came by `port`, until it goes.
  static std::shared_ptr<client_stream> open(request_id id, net::stream_sink sink,
                                             std::shared_ptr<metrics::engine_metrics> metrics,
                                             const std::shared_ptr<open_clients>& clients,
                                             const actor_port* port);
  // A stream without an end ends here, with error `unavailable`: its message or its gateway was lost.
  ~client_stream();
  client_stream(const client_stream&) = delete;
  client_stream& operator=(const client_stream&) = delete;

  // Drops what comes after the end. False: the client has thrown, and is told of nothing any more.
  bool push(stream_event event);
  void fail(error failure);
  // Whether its client waits no longer.
  bool client_has_left() const { return clients_->has_left(id_); }

 private:
  client_stream(request_id id, net::stream_sink sink, std::shared_ptr<metrics::engine_metrics> metrics,
                std::shared_ptr<open_clients> clients);

  request_id id_;
  std::mutex mutex_;  // of the sink, which hears one event after another
  net::stream_sink sink_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  std::shared_ptr<open_clients> clients_;
};
using client_stream_ptr = std::shared_ptr<client_stream>;

// A call of /tokenize or /detokenize. The last owner answers `unavailable` where nobody did.
class text_call {
 public:
  using tokenize_callback = std::function<void(result<net::tokenize_reply>)>;
  using detokenize_callback = std::function<void(result<std::string>)>;

  text_call(net::tokenize_request request, tokenize_callback reply);
  text_call(std::vector<token_id> tokens, detokenize_callback reply);
  ~text_call();
  text_call(const text_call&) = delete;
  text_call& operator=(const text_call&) = delete;

  // nullptr where this is a call of the other kind.
  const net::tokenize_request* to_tokenize() const { return std::get_if<net::tokenize_request>(&input_); }
  const std::vector<token_id>* to_detokenize() const { return std::get_if<std::vector<token_id>>(&input_); }

  // The first answer counts; an answer of the wrong kind counts as none.
  void reply(result<net::tokenize_reply> answer);
  void reply(result<std::string> answer);
  void fail(const error& failure);

 private:
  std::variant<net::tokenize_request, std::vector<token_id>> input_;
  tokenize_callback tokenized_;
  detokenize_callback detokenized_;
};
using text_call_ptr = std::shared_ptr<text_call>;

// A question about the engine. The last owner answers with `otherwise` where nobody did.
template <class Answer>
class engine_question {
 public:
  using callback = std::function<void(Answer)>;

  engine_question(callback reply, Answer otherwise)
      : reply_(std::move(reply)), otherwise_(std::move(otherwise)) {}
  ~engine_question() { reply(std::move(otherwise_)); }
  engine_question(const engine_question&) = delete;
  engine_question& operator=(const engine_question&) = delete;

  // The first answer counts.
  void reply(Answer answer) {
    if (const auto told = std::exchange(reply_, nullptr)) call_back(told, std::move(answer));
  }

 private:
  callback reply_;
  Answer otherwise_;
};
using describe_call = engine_question<std::optional<request_state>>;
using describe_call_ptr = std::shared_ptr<describe_call>;
using reset_call = engine_question<bool>;
using reset_call_ptr = std::shared_ptr<reset_call>;
using company_call = engine_question<result<net::company_report>>;
using company_call_ptr = std::shared_ptr<company_call>;
using reload_call = engine_question<result<void>>;
using reload_call_ptr = std::shared_ptr<reload_call>;

}  // namespace troupe
