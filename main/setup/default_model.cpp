#include "main/setup/default_model.hpp"

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <system_error>
#include <vector>

#include "runtime/gguf/gguf.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr const char* default_file = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<fs::path> default_places() {
  std::vector<fs::path> places{fs::path("models") / default_file};
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (program.has_parent_path()) {
    places.push_back(program.parent_path().parent_path() / "models" / default_file);
  }
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data != '\0') {
    places.push_back(fs::path(data) / "troupe" / default_file);
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    places.push_back(fs::path(home) / ".local/share/troupe" / default_file);
  }
  places.push_back(fs::path("/var/lib/troupe") / default_file);  // of the unit for systemd
  return places;
}

// As a file to read a model from; empty: nothing.
std::string what_is_wrong_with(const std::string& path) {
  std::error_code failure;
  switch (fs::status(path, failure).type()) {
    case fs::file_type::regular:
      return "";
    case fs::file_type::directory:
      return path + " is a folder; name the GGUF file in it";
    case fs::file_type::not_found:
      return "there is no file " + path;
    default:
      return path + (failure ? " cannot be reached: " + failure.message()
                             : " is a device, a pipe or a socket, not a file");
  }
}

}  // namespace

result<std::string> find_model(const std::string& model) {
  if (!model.empty()) {
    const std::string wrong = what_is_wrong_with(model);
    if (wrong.empty()) return model;
    return fail(error_code::not_found, "no model: " + wrong, "model");
  }
  std::string looked;
  for (const fs::path& place : default_places()) {
    std::error_code failure;
    const fs::file_type kind = fs::status(place, failure).type();
    if (kind == fs::file_type::regular) return place.string();
    looked += (looked.empty() ? "" : ", ") + place.string();
    if (failure && kind != fs::file_type::not_found) looked += " (" + failure.message() + ")";
  }
  return fail(error_code::not_found,
              "no model: none of " + looked +
                  " exists. Run ./quickstart to fetch the default model, or name a file: "
                  "--model PATH");
}

result<tokenizer_ptr> load_vocabulary(const std::string& model) {
  const auto path = find_model(model);
  if (!path) return tl::unexpected(path.error());
  const auto file = gguf::file::open(*path);
  if (!file) return tl::unexpected(file.error());
  return load_tokenizer(*file);
}

std::string model_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  static const std::regex quantisation(R"([.-](I?Q\d[\w]*|B?F16|F32)$)", std::regex::icase);
  const std::string bare = std::regex_replace(name.substr(0, 256), quantisation, "");
  return bare.empty() ? name : bare;
}

}  // namespace troupe
