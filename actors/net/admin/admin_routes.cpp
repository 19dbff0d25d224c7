#include "actors/net/admin/admin_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>
#include <utility>

#include "actors/net/admin/actor_list.hpp"
#include "actors/net/last_words.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/json/json_writer.hpp"

namespace troupe::net {
namespace {

struct admin_route {
  std::string_view path;
  admin_resource target;
  bool is_post;
};
constexpr std::array<admin_route, 4> admin_routes{{
    {"/admin/actors", admin_resource::actors, false},
    {"/admin/drain", admin_resource::drain, true},
    {"/admin/log-level", admin_resource::log_level, true},
    {"/admin/reload", admin_resource::reload, true},
}};

constexpr std::size_t longest_shown_path = 128;
constexpr double longest_grace = 86'400;  // seconds

const admin_route* find_admin_route(std::string_view path) {
  const auto found = std::ranges::find(admin_routes, path, &admin_route::path);
  return found == admin_routes.end() ? nullptr : &*found;
}

std::string served_admin_routes() {
  std::string all;
  for (const admin_route& each : admin_routes)
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", each.is_post ? "POST" : "GET", each.path);
  return all;
}

// The members of the body, all of them known; nothing stands for an empty object.
result<json> read_members(const std::string& body, std::initializer_list<std::string_view> known) {
  if (body.empty()) return json::object();
  auto members = read_json(body, {.max_depth = 4, .max_values = 64, .max_large_values = 64});
  if (!members) return members;
  if (!members->is_object()) return fail(error_code::invalid_argument, "the body must be a JSON object");
  for (const auto& [name, value] : members->items())
    if (std::ranges::find(known, name) == known.end())
      return fail(error_code::invalid_argument, "there is no such member",
                  name.substr(0, longest_shown_path));
  return members;
}

http_response answer_drain(const std::string& body, operator_commands& commands) {
  const auto members = read_members(body, {"grace"});
  if (!members) return error_response(members.error());
  std::optional<std::chrono::milliseconds> grace;
  if (const auto found = members->find("grace"); found != members->end() && !found->is_null()) {
    const double seconds = found->is_number() ? found->get<double>() : -1;
    if (!(seconds >= 0 && seconds <= longest_grace))
      return error_response(
          {error_code::invalid_argument, "grace must be a number of seconds from 0 to 86400", "grace"});
    grace = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  }
  const drain_order order = commands.drain(grace);
  const std::chrono::milliseconds until_end = order.grace;
  const auto in_seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  const double in_force = in_seconds(until_end);
  http_response response{.status = 202};
  json_writer out(response.body);
  out.begin_object().key("status").string("draining");
  out.key("grace_seconds").number(static_cast<float>(in_force));
  out.key("message").string(fmt::format(
      "{}new requests are refused; running ones have {:.4g} s to finish{}, the rest is aborted; the "
      "service ends within {:.4g} s",
      order.is_first ? "" : "the service was ending already, and this changes nothing: ",
      in_seconds(until_end - kept_for_last_words(until_end)),
      order.is_first ? "" : " from when it was told so first", in_force));
  out.end_object();
  return response;
}

http_response answer_log_level(const std::string& body, operator_commands& commands) {
  const auto members = read_members(body, {"level"});
  if (!members) return error_response(members.error());
  const auto found = members->find("level");
  if (found == members->end() || !found->is_string())
    return error_response({error_code::invalid_argument, "level must be a text such as \"debug\"", "level"});
  const auto level = found->get<std::string>();
  const auto before = commands.set_log_level(level);
  if (!before) return error_response(before.error());
  http_response response;
  json_writer out(response.body);
  out.begin_object().key("level").string(level).key("before").string(*before).end_object();
  return response;
}

void write_setting(json_writer& out, const char* name, const std::optional<std::string>& value) {
  out.key(name);
  if (value) {
    out.string(*value);
  } else {
    out.null();
  }
}

void write_texts(json_writer& out, const char* name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& each : texts) out.string(each);
  out.end_array();
}

http_response answer_reload(const result<new_settings_report>& outcome) {
  if (!outcome) return error_response(outcome.error());
  http_response response;
  json_writer out(response.body);
  out.begin_object().key("status").string("reloaded").key("changes").begin_array();
  for (const changed_setting& each : outcome->changes) {
    out.begin_object().key("setting").string(each.name);
    write_setting(out, "before", each.before);
    write_setting(out, "after", each.after);
    out.end_object();
  }
  out.end_array();
  write_texts(out, "overridden", outcome->overridden);
  write_texts(out, "warnings", outcome->warnings);
  out.end_object();
  return response;
}

}  // namespace

std::optional<admin_resource> find_admin_resource(std::string_view path) {
  const admin_route* found = find_admin_route(path);
  if (found == nullptr) return std::nullopt;
  return found->target;
}

bool is_authorized(std::string_view authorization, const operator_commands& commands) {
  const auto key = bearer_key(authorization);
  return key && commands.is_key(*key);
}

http_response refuse_stranger() {
  http_response response =
      error_response(401, "this port is the operators': send their key as \"Authorization: Bearer KEY\"");
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"troupe\"");
  return response;
}

std::optional<http_response> refuse_admin_route(const request_line& request) {
  const admin_route* found = find_admin_route(request.path);
  if (found == nullptr)
    return error_response({error_code::not_found,
                           fmt::format("there is no {} {}; what is served: {}", request.verb,
                                       request.path.substr(0, longest_shown_path), served_admin_routes())});
  const bool is_read = request.method == http_method::get || request.method == http_method::head;
  if (found->is_post ? request.method == http_method::post : is_read) return std::nullopt;
  const char* const allowed = found->is_post ? "POST" : "GET, HEAD";
  http_response response =
      error_response(405, fmt::format("{} takes only {}, not {}", found->path, allowed, request.verb));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

void answer_admin(admin_resource target, const std::string& body, operator_commands& commands,
                  const std::function<void(http_response)>& reply) {
  switch (target) {
    case admin_resource::actors:
      return commands.describe([reply](const result<company_report>& report) {
        reply(report ? http_response{.body = actor_list(*report)} : error_response(report.error()));
      });
    case admin_resource::drain:
      return reply(answer_drain(body, commands));
    case admin_resource::log_level:
      return reply(answer_log_level(body, commands));
    case admin_resource::reload:
      if (const auto members = read_members(body, {}); !members)
        return reply(error_response(members.error()));
      return commands.reload([reply](const auto& outcome) { reply(answer_reload(outcome)); });
  }
}

http_response answer_without_reply(admin_resource target) {
  if (target != admin_resource::reload)
    return error_response({error_code::unavailable, "the supervisor does not answer"});
  http_response response{.status = 202};
  json_writer out(response.body);
  out.begin_object().key("status").string("reloading");
  out.key("message").string("whether the new settings are taken up is not known yet: the log will tell");
  out.end_object();
  return response;
}

}  // namespace troupe::net
