// Calls of what the embedding program has given: what it throws is its own affair, and no actor's end.
#pragma once
#include <exception>
#include <new>
#include <utility>

namespace troupe {

// Told in the log: "a callback of the embedding program has thrown: WHAT".
void report_thrown(const char* what) noexcept;

// False where the callback threw. An empty one has (std::bad_function_call). A lack of memory is nobody's own
// affair, and thrown on.
template <class Callback, class... Arguments>
bool call_back(const Callback& callback, Arguments&&... arguments) {
  try {
    callback(std::forward<Arguments>(arguments)...);
    return true;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    report_thrown(thrown.what());
  } catch (...) {
    report_thrown("not an exception of the standard library's");
  }
  return false;
}

}  // namespace troupe
