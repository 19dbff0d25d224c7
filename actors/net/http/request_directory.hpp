// The requests that a server is answering, under the names that its clients know. Lives on the io_context
// thread.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/request.hpp"
#include "runtime/stream.hpp"

namespace troupe::net {

class request_directory {
 public:
  struct choice {
    request_id id = 0;
    // Its tokens, as far as its events have told them, or the scheduler when it was asked.
    std::optional<usage> told = {};
    std::optional<usage> ended = {};

    // Whoever knows of fewer tokens is late.
    void tell(const usage& tokens) {
      if (!told || told->completion_tokens <= tokens.completion_tokens) told = tokens;
    }
  };
  using entry = std::vector<choice>;  // by index

  // Listed as long as it lives.
  class listing {
   public:
    listing(request_directory& directory, std::string name, const std::vector<request_id>& ids)
        : directory_(directory), name_(std::move(name)), choices_(directory_.entries_[name_]) {
      choices_.clear();
      for (const request_id id : ids) choices_.push_back({id});
    }
    ~listing() { directory_.entries_.erase(name_); }
    listing(const listing&) = delete;
    listing& operator=(const listing&) = delete;
    void told(std::size_t index, const usage& tokens) { choices_[index].tell(tokens); }
    void ended(std::size_t index, const usage& tokens) { choices_[index].ended = tokens; }

   private:
    request_directory& directory_;
    std::string name_;
    entry& choices_;
  };

  bool contains(const std::string& name) const { return entries_.contains(name); }
  std::optional<entry> find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }
  // As listing::told(), of the answer of this id, if it is listed still under this name: another request may
  // have taken the name since.
  void told(const std::string& name, request_id id, const usage& tokens) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    for (choice& each : found->second)
      if (each.id == id) each.tell(tokens);
  }

 private:
  std::unordered_map<std::string, entry> entries_;  // whose entries stay where they are
};

}  // namespace troupe::net
