#include "actors/net/http/http_routes.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "actors/net/http/status_page.hpp"
#include "runtime/json/json_writer.hpp"
#include "runtime/openai/models.hpp"

namespace troupe::net {
namespace {

constexpr std::array<std::pair<std::string_view, resource>, 14> routes{{
    {"/v1/models", resource::model_list},
    {"/v1/chat/completions", resource::chat},
    {"/v1/completions", resource::completion},
    {"/v1/responses", resource::response},
    {"/tokenize", resource::tokenize},
    {"/detokenize", resource::detokenize},
    {"/tokenizer_info", resource::tokenizer_info},
    {"/health", resource::health},
    {"/livez", resource::livez},
    {"/readyz", resource::readyz},
    {"/version", resource::version},
    {"/metrics", resource::metrics},
    {"/reset_prefix_cache", resource::reset_prefix_cache},
    {"/", resource::status_page},
}};
constexpr std::array<std::pair<std::string_view, resource>, 2> named_routes{{
    {"/v1/models/", resource::model},
    {"/v1/requests/", resource::request_state},
}};

constexpr std::size_t longest_shown = 128;

// "POST /v1/chat/completions, ...; GET /v1/models, ..."
std::string served_routes() {
  std::string posts;
  std::string gets;
  const auto add = [&](std::string_view path, resource target) {
    std::string& list = takes_post(target) ? posts : gets;
    list += list.empty() ? "" : ", ";
    list += path;
  };
  for (const auto& [path, target] : routes) add(path, target);
  for (const auto& [prefix, target] : named_routes) add(std::string(prefix) + "{id}", target);
  return "POST " + posts + "; GET " + gets;
}

http_response answer_member(std::string_view name, std::string_view value) {
  http_response response;
  json_writer(response.body).begin_object().key(name).string(value).end_object();
  return response;
}

http_response answer_status(bool good, const std::string& reason) {
  if (good) return answer_member("status", "ok");
  return error_response({error_code::unavailable, reason.empty() ? "not ready" : reason});
}

http_response answer_degraded(const std::string& why) {
  http_response response;
  json_writer(response.body)
      .begin_object()
      .key("status")
      .string("ok")
      .key("degraded")
      .string(why)
      .end_object();
  return response;
}

// Only the page's own style and script, and only this server to ask.
http_response answer_status_page() {
  http_response response{.content_type = "text/html; charset=utf-8", .body = std::string(status_page())};
  response.headers.emplace_back("Content-Security-Policy",
                                "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                                "connect-src 'self'; img-src data:; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cache-Control", "no-cache");
  return response;
}

http_response answer_model(std::string_view name, const openai::model_description& model) {
  if (openai::is_name_of(name, model)) return {.body = openai::model_answer(name, model)};
  return error_response({error_code::not_found, "there is no such model", "model"});
}

}  // namespace

std::optional<route> find_route(std::string_view path) {
  for (const auto& [name, target] : routes) {
    if (path == name) return route{target};
  }
  for (const auto& [prefix, target] : named_routes) {
    if (path.starts_with(prefix) && path.size() > prefix.size())
      return route{target, path.substr(prefix.size())};
  }
  return std::nullopt;
}

bool takes_post(resource target) { return takes_body(target) || target == resource::reset_prefix_cache; }

bool takes_body(resource target) {
  return target == resource::chat || target == resource::completion || target == resource::response ||
         target == resource::tokenize || target == resource::detokenize;
}

bool is_open(resource target) {
  switch (target) {
    case resource::health:
    case resource::livez:
    case resource::readyz:
    case resource::version:
    case resource::metrics:
    case resource::status_page:
      return true;
    default:
      return false;
  }
}

std::optional<http_response> refuse_route(const std::optional<route>& found, const request_line& request) {
  if (!found)
    return error_response(
        {error_code::not_found, fmt::format("there is no {} {}; what is served: {}", request.verb,
                                            request.path.substr(0, longest_shown), served_routes())});
  const bool post = takes_post(found->target);
  const http_method method = request.method;
  const bool allowed =
      post ? method == http_method::post : method == http_method::get || method == http_method::head;
  if (allowed) return std::nullopt;
  http_response response =
      error_response(405, fmt::format("{} takes only {}, not {}", request.path.substr(0, longest_shown),
                                      post ? "POST" : "GET", request.verb));
  response.headers.emplace_back("Allow", post ? "POST" : "GET, HEAD");
  return response;
}

http_response answer_get(const route& found, const engine_port& port, std::string_view version) {
  switch (found.target) {
    case resource::version:
      return answer_member("version", version);
    case resource::metrics:
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = port.metrics_text()};
    case resource::status_page:
      return answer_status_page();
    case resource::tokenizer_info: {
      const auto info = port.model().tokenizer_info;
      return info ? http_response{.body = *info} : answer_status(false, port.status().reason);
    }
    case resource::model_list:
    case resource::model: {
      const model_card card = port.model();
      const openai::model_description model{card.id, card.created, card.max_model_len, card.aliases};
      if (found.target == resource::model) return answer_model(found.rest, model);
      return {.body = openai::model_list_answer(model)};
    }
    default:
      break;
  }
  const engine_status status = port.status();
  if (found.target == resource::livez) return answer_status(status.live, status.reason);
  if (status.live && status.ready && !status.degraded.empty()) return answer_degraded(status.degraded);
  return answer_status(status.live && status.ready, status.reason);
}

}  // namespace troupe::net
