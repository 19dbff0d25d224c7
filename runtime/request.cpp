#include "runtime/request.hpp"

namespace troupe {

const char* to_string(finish_reason reason) {
  switch (reason) {
    case finish_reason::stop:
      return "stop";
    case finish_reason::length:
      return "length";
    case finish_reason::abort:
      return "abort";
    case finish_reason::timeout:
      return "timeout";
    case finish_reason::error:
      return "error";
  }
  return "error";
}

}  // namespace troupe
