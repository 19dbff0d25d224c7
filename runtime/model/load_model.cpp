#include <utility>

#include "runtime/model/bind_weights.hpp"
#include "runtime/model/model.hpp"
#include "runtime/model/read_config.hpp"

namespace troupe {

namespace {

result<model_ptr> load(result<gguf::file> file, const std::string& name) {
  auto in_file = [&name](error problem) {
    problem.message = name + ": " + problem.message;
    if (problem.code == error_code::not_found)
      problem.code = error_code::corrupt_file;  // a field, not the file
    return tl::unexpected(std::move(problem));
  };
  if (!file) return tl::unexpected(std::move(file.error()));
  auto out = std::make_shared<model>();
  out->file = std::move(*file);
  auto config = read_config(out->file);
  if (!config) return in_file(std::move(config.error()));
  out->config = std::move(*config);
  if (auto bound = bind_weights(*out); !bound) return in_file(std::move(bound.error()));
  return model_ptr(std::move(out));
}

}  // namespace

result<model_ptr> load_model(const std::string& path) { return load(gguf::file::open(path), path); }

result<model_ptr> load_model(int descriptor, const std::string& name) {
  return load(gguf::file::of(descriptor, name), name);
}

}  // namespace troupe
