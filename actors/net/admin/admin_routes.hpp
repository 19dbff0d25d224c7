// Who may ask what of the operators' server, and the answers as JSON.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "actors/net/admin/operator_commands.hpp"
#include "actors/net/http/http_message.hpp"

namespace troupe::net {

enum class admin_resource { actors, drain, log_level, reload };

// Nothing for a path that is not served.
std::optional<admin_resource> find_admin_resource(std::string_view path);

// Whether the field holds "Bearer KEY" with the right key (RFC 6750).
bool is_authorized(std::string_view authorization, const operator_commands& commands);
// To whoever comes without it, whatever the path.
http_response refuse_stranger();
// An error where there is no such path or it has no such method; it says what there is.
std::optional<http_response> refuse_admin_route(const request_line& request);

// Does what is asked for; `reply` is called once, now or later, on any thread. `body`: a JSON object, or
// nothing.
void answer_admin(admin_resource target, const std::string& body, operator_commands& commands,
                  const std::function<void(http_response)>& reply);
// Where no reply came in time. What was asked for may be done yet.
http_response answer_without_reply(admin_resource target);

}  // namespace troupe::net
