#include "actors/messaging/measured.hpp"

#include <spdlog/spdlog.h>

#include <boost/core/demangle.hpp>
#include <exception>
#include <string>
#include <typeinfo>

namespace troupe {

// Beside what the supervisor says of the actor's end; CAF's own handler writes words and all to standard
// error, past the log.
void log_exceptions(caf::scheduled_actor& self) {
  self.set_exception_handler([](caf::scheduled_actor* who, std::exception_ptr& fault) -> caf::error {
    std::string kind = "unknown";
    try {
      std::rethrow_exception(fault);
    } catch (const std::exception& known) {
      kind = boost::core::demangle(typeid(known).name());
    } catch (...) {
    }
    spdlog::error("actor {} is ended by an exception of the kind {}", who->name(), kind);
    return caf::sec::runtime_error;
  });
}

}  // namespace troupe
