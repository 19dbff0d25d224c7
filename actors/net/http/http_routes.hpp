// Which resource a path names, and the answers that need no waiting.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "actors/net/engine_port.hpp"
#include "actors/net/http/http_message.hpp"

namespace troupe::net {

enum class resource {
  model_list,
  model,
  chat,
  completion,
  response,
  tokenize,
  detokenize,
  tokenizer_info,
  health,
  livez,
  readyz,
  version,
  metrics,
  status_page,
  request_state,
  reset_prefix_cache
};

struct route {
  resource target;
  std::string_view rest = {};  // the name of the model or of the request
};

// Nothing for a path that is not served. `rest` points into `path`.
std::optional<route> find_route(std::string_view path);

// True for the resources that are POSTed to; all others are read by GET and HEAD.
bool takes_post(resource target);
// True for those whose POST has a JSON body.
bool takes_body(resource target);

// Whether anybody may ask for it, with a key or without one: what tells how the service is.
bool is_open(resource target);

// An error where there is no such route or it has no such method; it says what there is.
std::optional<http_response> refuse_route(const std::optional<route>& found, const request_line& request);

// The answer to a GET of any resource but a request's state.
http_response answer_get(const route& found, const engine_port& port, std::string_view version);

}  // namespace troupe::net
