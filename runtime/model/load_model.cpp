#include <utility>

#include "runtime/model/bind_weights.hpp"
#include "runtime/model/model.hpp"
#include "runtime/model/read_config.hpp"

namespace troupe {

result<model_ptr> load_model(const std::string& path) {
  auto in_file = [&path](error problem) {
    problem.message = path + ": " + problem.message;
    if (problem.code == error_code::not_found)
      problem.code = error_code::corrupt_file;  // a field, not the file
    return tl::unexpected(std::move(problem));
  };
  auto file = gguf::file::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  auto out = std::make_shared<model>();
  out->file = std::move(*file);
  auto config = read_config(out->file);
  if (!config) return in_file(std::move(config.error()));
  out->config = std::move(*config);
  if (auto bound = bind_weights(*out); !bound) return in_file(std::move(bound.error()));
  return model_ptr(std::move(out));
}

}  // namespace troupe
