// The company inside a foreign actor system: an actor of one's own asks, the text comes back as messages.
//
//   example_embed MODEL.gguf PROMPT
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <cstdio>
#include <string>

#include "actors/company.hpp"
#include "actors/interfaces.hpp"
#include "runtime/generation_request.hpp"

CAF_BEGIN_TYPE_ID_BLOCK(embed, 6000)
CAF_ADD_ATOM(embed, embedding, text_atom, "text")
CAF_ADD_ATOM(embed, embedding, end_atom, "end")
CAF_END_TYPE_ID_BLOCK(embed)

namespace {

using embedding::end_atom;
using embedding::text_atom;

int complain(const troupe::error& error) {
  std::fprintf(stderr, "embed: %s\n", error.message.c_str());
  return 1;
}

// An actor of the embedding program: prints what the model says, and ends with it.
caf::behavior reader(caf::event_based_actor* self, troupe::net::engine_port* engine,
                     const std::string& question) {
  auto request = std::make_shared<troupe::generation_request>();
  troupe::chat_prompt chat;
  chat.messages = nlohmann::ordered_json::array({{{"role", "user"}, {"content", question}}});
  request->prompt = chat;
  request->sampling.temperature = 0.0F;
  request->sampling.max_tokens = 64;
  // The sink may be called on any thread: it only sends, and does not keep its actor alive.
  const auto address = self->address();
  const auto id = engine->generate(request, [address](const troupe::stream_event& event) {
    const auto to_self = caf::actor_cast<caf::actor>(address);
    if (!to_self) return;
    if (!event.text.empty()) caf::anon_send(to_self, text_atom::value, event.text);
    if (event.end) caf::anon_send(to_self, end_atom::value, std::string(to_string(event.end->reason)));
  });
  // Whatever ends this actor ends its request, too.
  self->attach_functor([engine, id] { engine->abort(id); });
  return {
      [](text_atom, const std::string& text) { std::fputs(text.c_str(), stdout); },
      [self](end_atom, const std::string& reason) {
        std::printf("\n(%s)\n", reason.c_str());
        self->quit();
      },
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL.gguf PROMPT\n", argv[0]);
    return 2;
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("engine"));  // standard output is the answer's
  caf::actor_system_config config;
  troupe::configure(config, "sharing", 2);
  caf::actor_system system{config};

  troupe::company_options options;
  options.engine.model_path = argv[1];
  options.system = &system;
  auto company = troupe::company::start(std::move(options));
  if (!company) return complain(company.error());
  if (const auto ready = (*company)->wait_ready(); !ready) return complain(ready.error());

  caf::scoped_actor self{system};
  self->wait_for(system.spawn(reader, &(*company)->port(), std::string(argv[2])));
  (*company)->stop();
}
