#include "actors/net/admin/actor_list.hpp"

#include "runtime/json/json_writer.hpp"

namespace troupe::net {
namespace {

// Divided as a double: a float has no room for an hour of nanoseconds.
float seconds_of(std::chrono::nanoseconds time) {
  return static_cast<float>(std::chrono::duration<double>(time).count());
}

const char* word_of(actor_state state) {
  switch (state) {
    case actor_state::starting:
      return "starting";
    case actor_state::running:
      return "running";
    case actor_state::stopped:
      break;
  }
  return "stopped";
}

void write_actor(json_writer& out, const actor_report& actor) {
  out.key("state").string(word_of(actor.state)).key("busy").boolean(actor.is_busy);
  out.key("mailbox").integer(static_cast<std::int64_t>(actor.mailbox));
  out.key("restarts").integer(static_cast<std::int64_t>(actor.restarts)).key("last_message_age_seconds");
  if (actor.last_message) {
    out.number(seconds_of(*actor.last_message));
  } else {
    out.null();
  }
  out.key("handled").begin_object();
  for (const auto& [message, count] : actor.handled)
    out.key(message).integer(static_cast<std::int64_t>(count));
  out.end_object();
}

void write_group(json_writer& out, const group_report& group) {
  out.key("strategy").string(group.strategy).key("intensity").begin_object();
  out.key("restarts").integer(group.max_restarts);
  out.key("period_seconds").number(seconds_of(group.period));
  out.end_object();
  out.key("recent_restarts").integer(static_cast<std::int64_t>(group.recent_restarts));
}

// As deep as the tree is declared: three groups.
void write_tree(json_writer& out, const tree_report& tree) {
  out.begin_object().key("name").string(tree.name);
  if (tree.group) {
    write_group(out, *tree.group);
    out.key("members").begin_array();
    for (const tree_report& member : tree.members) write_tree(out, member);
    out.end_array();
  } else {
    write_actor(out, tree.actor);
  }
  out.end_object();
}

}  // namespace

std::string actor_list(const company_report& report) {
  std::string body;
  json_writer out(body);
  out.begin_object().key("object").string("actors").key("status").string(report.status);
  out.key("supervisor").begin_object().key("name").string("supervisor");
  write_actor(out, report.supervisor);
  out.end_object().key("tree");
  write_tree(out, report.tree);
  out.end_object();
  return body;
}

}  // namespace troupe::net
