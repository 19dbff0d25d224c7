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
    std::optional<usage> ended = {};
  };
  using entry = std::vector<choice>;  // by index

  // Listed as long as it lives.
  class listing {
   public:
    listing(request_directory& directory, std::string name, const std::vector<request_id>& ids)
        : directory_(directory), name_(std::move(name)) {
      entry choices;
      for (const request_id id : ids) choices.push_back({id});
      directory_.entries_.insert_or_assign(name_, std::move(choices));
    }
    ~listing() { directory_.entries_.erase(name_); }
    listing(const listing&) = delete;
    listing& operator=(const listing&) = delete;
    void ended(std::size_t index, const usage& tokens) {
      directory_.entries_.at(name_)[index].ended = tokens;
    }

   private:
    request_directory& directory_;
    std::string name_;
  };

  bool contains(const std::string& name) const { return entries_.contains(name); }
  std::optional<entry> find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string, entry> entries_;
};

}  // namespace troupe::net
