#include "main/exit_code.hpp"

namespace troupe::cli {

int report(const error& failure) {
  complain(failure.message);
  switch (failure.code) {
    case error_code::not_found:
    case error_code::corrupt_file:
    case error_code::io_error:
      return exit_no_model;
    case error_code::invalid_argument:
    case error_code::unsupported:
      return exit_configuration;
    case error_code::internal:
      return exit_internal;
    case error_code::too_large:
    case error_code::resource_exhausted:
    case error_code::unavailable:
      return exit_failure;
  }
  return exit_failure;
}

}  // namespace troupe::cli
