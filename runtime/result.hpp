// Errors are values: every operation that can fail on its input returns result<T>.
#pragma once
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace troupe {

enum class error_code {
  invalid_argument,         // the caller's input is wrong; HTTP 400
  context_length_exceeded,  // more tokens than a sequence can have; HTTP 400
  unauthenticated,          // no key, or a wrong one; HTTP 401
  not_found,                // an unknown model, route or file; HTTP 404
  too_large,                // a size limit was passed; HTTP 413
  resource_exhausted,       // no room now, try again later; HTTP 429
  unavailable,              // not ready, draining or gone; HTTP 503
  corrupt_file,             // a model file contradicts itself
  unsupported,              // well formed, but a kind that is not served
  io_error,                 // the operating system refused
  internal,                 // a fault of this program; HTTP 500
};

// What went wrong, in one line for people. `param` names the field at fault where there is one.
struct error {
  error_code code = error_code::internal;
  std::string message;
  std::string param = {};
  // resource_exhausted, unavailable: when it may be worth another try, in seconds; 0: nobody knows.
  std::int32_t retry_after = 0;
};

template <class T>
using result = tl::expected<T, error>;

// return fail(error_code::invalid_argument, "temperature must be at least 0", "temperature");
inline tl::unexpected<error> fail(error_code code, std::string message, std::string param = {}) {
  return tl::unexpected<error>(error{code, std::move(message), std::move(param), 0});
}

}  // namespace troupe
