// The company inside a foreign actor system: actors of one's own ask, the text comes back as messages.
//
//   example_embed MODEL.gguf PROMPT...
//
// A chat for each prompt, all at once; TROUPE_CONFIG may name a file of settings. Exit code 1 where the
// company cannot be started or an answer ends with an error.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/company.hpp"
#include "actors/interfaces.hpp"
#include "main/setup/company_options.hpp"
#include "main/setup/read_settings.hpp"
#include "main/setup/runner_program.hpp"
#include "runtime/generation_request.hpp"

CAF_BEGIN_TYPE_ID_BLOCK(embed, 6000)
CAF_ADD_ATOM(embed, embedding, text_atom, "text")
CAF_ADD_ATOM(embed, embedding, end_atom, "end")
CAF_ADD_ATOM(embed, embedding, failed_atom, "failed")
CAF_END_TYPE_ID_BLOCK(embed)

namespace {

using embedding::end_atom;
using embedding::failed_atom;
using embedding::text_atom;

int complain(const std::string& message) {
  std::fprintf(stderr, "embed: %s\n", message.c_str());
  return 1;
}

troupe::generation_request_ptr chat_of(const std::string& question) {
  auto request = std::make_shared<troupe::generation_request>();
  troupe::chat_prompt chat;
  chat.messages = troupe::json::array({{{"role", "user"}, {"content", question}}});
  request->prompt = chat;
  request->sampling.temperature = 0.0F;  // greedy; else each request wants a seed of its own
  request->sampling.max_tokens = 64;
  return request;
}

// An actor of the embedding program: gathers what the model says, prints it and ends with it, with an error
// where the answer has one.
caf::behavior reader(caf::stateful_actor<std::string>* self,
                     const std::shared_ptr<troupe::net::engine_port>& engine, const std::string& question) {
  // The sink may be called on any thread: it only sends. It does not keep its actor alive, so whoever has
  // spawned the actor keeps its handle until the end.
  const auto address = self->address();
  const auto id = engine->generate(chat_of(question), [address](const troupe::stream_event& event) {
    const auto to_self = caf::actor_cast<caf::actor>(address);
    if (!to_self) return;
    if (!event.text.empty()) caf::anon_send(to_self, text_atom::value, event.text);
    if (!event.end) return;
    if (event.end->failure)
      caf::anon_send(to_self, failed_atom::value, event.end->failure->message);
    else
      caf::anon_send(to_self, end_atom::value, std::string(to_string(event.end->reason)));
  });
  // Whatever ends this actor ends its request, too. The port may be called for as long as it is held.
  self->attach_functor([engine, id] { engine->abort(id); });
  return {
      [self](text_atom, const std::string& text) { self->state += text; },
      [self](end_atom, const std::string& reason) {
        std::printf("%s\n(%s)\n", self->state.c_str(), reason.c_str());
        std::fflush(stdout);
        self->quit();
      },
      [self](failed_atom, const std::string& message) {
        complain(message);
        self->quit(caf::sec::runtime_error);
      },
  };
}

// What `troupe serve` would go by, settings of the environment aside.
troupe::result<troupe::company_options> options_for(const char* model) {
  troupe::config::setting_sources sources;
  if (const char* const file = std::getenv("TROUPE_CONFIG")) sources.file = file;
  sources.flags = {{"model", model}, {"max_num_seqs", "16"}};
  const auto loaded = troupe::read_settings(sources);
  if (!loaded) return troupe::fail(troupe::error_code::invalid_argument, loaded.error());
  return troupe::to_company_options(loaded->values, model);
}

int ask_all(caf::actor_system& system, const troupe::company& company, std::vector<std::string> questions) {
  caf::scoped_actor self{system};
  std::vector<caf::actor> readers;
  for (std::string& question : questions)
    readers.push_back(self->spawn<caf::monitored>(reader, company.port(), std::move(question)));
  int failed = 0;
  for (std::size_t ended = 0; ended < readers.size(); ++ended)
    self->receive([&](const caf::down_msg& down) { failed += down.reason ? 1 : 0; });
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto done = troupe::run_if_runner_process(argc, argv)) return *done;
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MODEL.gguf PROMPT...\n", argv[0]);
    return 2;
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("engine"));  // standard output is the answers'
  caf::actor_system_config config;
  troupe::configure(config, "sharing", 2);
  caf::actor_system system{config};

  auto options = options_for(argv[1]);
  if (!options) return complain(options.error().message);
  options->system = &system;
  options->engine.isolation = troupe::this_program();  // the model runs in a process of its own
  auto company = troupe::company::start(std::move(*options));
  if (!company) return complain(company.error().message);
  if (const auto ready = (*company)->wait_ready(); !ready) return complain(ready.error().message);

  const int code = ask_all(system, **company, {argv + 2, argv + argc});
  (*company)->stop();
  return code;
}
