// Damaged model files: each gives a model or one clear error, and nothing is read that is not there. Worth
// most under AddressSanitizer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "runtime/model/describe.hpp"
#include "runtime/model/model.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

constexpr std::size_t trials = 1000;

const std::string& real_path() {
  static const std::string path = test::default_model_path();
  return path;
}

// The header of the real file in a sparse file of its size, to be damaged in place: only the header is ever
// written.
class sparse_copy {
 public:
  sparse_copy() : file_("") {
    const auto original = gguf::file::open(real_path());
    if (!original) throw std::runtime_error(original.error().message);
    std::size_t data = 0;
    for (const auto& tensor : original->tensors()) data = std::max(data, end_of(*original, tensor));
    struct stat status {};
    if (::stat(real_path().c_str(), &status) != 0) throw std::runtime_error("cannot stat " + real_path());
    size_ = static_cast<std::size_t>(status.st_size);
    header_.resize(size_ - data);
    std::ifstream(real_path(), std::ios::binary)
        .read(header_.data(), static_cast<std::streamsize>(header_.size()));
    descriptor_ = ::open(file_.path().c_str(), O_RDWR | O_CLOEXEC);
    write(0, header_);
    truncate(size_);
  }
  sparse_copy(const sparse_copy&) = delete;
  sparse_copy& operator=(const sparse_copy&) = delete;
  ~sparse_copy() { ::close(descriptor_); }

  const std::string& path() const { return file_.path(); }
  const std::string& header() const { return header_; }
  std::size_t size() const { return size_; }

  void write(std::size_t offset, std::string_view bytes) {
    if (::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) < 0) {
      throw std::runtime_error("cannot write " + path());
    }
  }
  void truncate(std::size_t length) {
    if (::ftruncate(descriptor_, static_cast<off_t>(length)) != 0)
      throw std::runtime_error("cannot cut " + path());
  }

 private:
  // From the start of the data section.
  static std::size_t end_of(const gguf::file& file, const gguf::tensor& tensor) {
    const auto* first =
        std::min_element(file.tensors().data(), file.tensors().data() + file.tensors().size(),
                         [](const auto& a, const auto& b) { return a.data.data() < b.data.data(); });
    return static_cast<std::size_t>(tensor.data.data() - first->data.data()) + tensor.data.size();
  }

  test::temporary_file file_;
  std::string header_;
  std::size_t size_ = 0;
  int descriptor_ = -1;
};

bool starts_field(const std::string& message, const std::string& path) {
  const std::string rest = message.substr(std::min(message.size(), path.size() + 2));
  return std::ranges::any_of(
      std::vector<std::string>{"metadata '", "tensor '", "name of metadata entry ", "name of tensor ",
                               "magic number", "version", "tensor count", "metadata count", "blk."},
      [&](const std::string& field) { return rest.rfind(field, 0) == 0; });
}

// Touches the last byte of every tensor.
void use(const model& loaded) {
  unsigned sum = 0;
  for (const auto& tensor : loaded.file.tensors()) sum += std::to_integer<unsigned>(tensor.data.back());
  EXPECT_LE(sum, 255U * loaded.file.tensors().size());
}

// Its vocabulary may be damaged although its tensors are whole; the error then names a field of it.
void use_vocabulary(const gguf::file& file) {
  const auto text = load_tokenizer(file);
  if (text) {
    const auto ids = (*text)->encode("<|im_start|>Hello, world! 1234\xf0\x9f\x98\x80\xff", {});
    EXPECT_FALSE(ids.empty());
    for (const auto id : ids) EXPECT_TRUE(id >= 0 && id < (*text)->vocab_size());
    EXPECT_FALSE((*text)->decode(ids, true).empty());
  } else {
    EXPECT_NE(text.error().message.find("tokenizer."), std::string::npos) << text.error().message;
    EXPECT_EQ(text.error().message.find('\n'), std::string::npos) << text.error().message;
  }
}

// Loads the file at `path`. A model is used a little; an error must be one line that names the path and a
// field.
bool loads_or_says_why(const std::string& path, bool with_vocabulary = false) {
  const auto loaded = load_model(path);
  if (loaded) {
    use(**loaded);
    if (with_vocabulary) use_vocabulary((*loaded)->file);
    return true;
  }
  const auto& message = loaded.error().message;
  EXPECT_EQ(message.rfind(path + ": ", 0), 0U) << message;
  EXPECT_TRUE(starts_field(message, path)) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), path.size() + 250) << message;
  EXPECT_TRUE(loaded.error().code == error_code::corrupt_file ||
              loaded.error().code == error_code::unsupported)
      << message;
  return false;
}

TEST(damaged_model, the_real_file_cut_at_1000_offsets_is_refused) {
  sparse_copy copy;
  ASSERT_TRUE(loads_or_says_why(copy.path()));
  std::mt19937_64 random(1);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < trials; ++i) {
    const std::size_t limit = i < 64 ? 4096 : i < 700 ? copy.header().size() : copy.size();
    lengths.push_back(random() % limit);
  }
  // Longest first: a cut file only ever gets shorter, so the header need not be written again.
  std::sort(lengths.rbegin(), lengths.rend());
  for (const auto length : lengths) {
    copy.truncate(length);
    EXPECT_FALSE(loads_or_says_why(copy.path())) << "cut at " << length;
  }
}

TEST(damaged_model, the_real_file_with_1000_flipped_bytes_loads_or_is_refused) {
  sparse_copy copy;
  std::mt19937_64 random(2);
  const std::size_t header = copy.header().size();
  std::size_t loaded = 0;
  for (std::size_t i = 0; i < trials; ++i) {
    // A third each in the keys at the start, in the tensor table at the end, and anywhere.
    const std::size_t offset = i % 3 == 0   ? random() % 2048
                               : i % 3 == 1 ? header - 1 - random() % 16'000
                                            : random() % header;
    const char original = copy.header()[offset];
    const char flipped = static_cast<char>(original ^ static_cast<char>(1 + random() % 255));
    copy.write(offset, {&flipped, 1});
    SCOPED_TRACE("byte " + std::to_string(offset));
    // Building the vocabulary of the real file takes a while; every fourth time is often enough.
    loaded += loads_or_says_why(copy.path(), i % 4 == 0) ? 1 : 0;
    copy.write(offset, {&original, 1});
  }
  // Text of tokens may change; counts, lengths, names and offsets may not.
  EXPECT_GT(loaded, trials / 10);
  EXPECT_LT(loaded, trials * 9 / 10);
  EXPECT_TRUE(loads_or_says_why(copy.path()));
}

// Random edits of small files, as a fuzzer makes them: overwrite, insert, erase, copy, interesting numbers.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  const std::uint64_t interesting[] = {0,           1,           31,          255,         1U << 16U,
                                       1ULL << 31U, 1ULL << 32U, 1ULL << 60U, 1ULL << 63U, ~0ULL};
  const std::size_t header = std::min<std::size_t>(bytes.size(), 12'000);
  for (std::size_t edits = 1 + random() % 4; edits > 0; --edits) {
    const std::size_t at = random() % header;
    const std::size_t length = std::min<std::size_t>(1 + random() % 64, bytes.size() - at);
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(random() % header, length));
        break;
      case 3:
        bytes.replace(at, length, bytes.substr(random() % header, length));
        break;
      case 4:
        bytes.replace(at, std::min<std::size_t>(8, bytes.size() - at), test::raw(interesting[random() % 10]));
        break;
      default:
        bytes.resize(random() % 10 == 0 ? random() % bytes.size() : bytes.size());
        break;
    }
    if (bytes.size() < header) break;
  }
  return bytes;
}

TEST(damaged_model, random_edits_of_small_files_load_or_are_refused) {
  std::mt19937_64 random(3);
  std::vector<std::string> originals;
  for (const auto kind : test::all_tiny_kinds) {
    using enum gguf::tensor_type;
    originals.push_back(test::tiny_model({.kind = kind,
                                          .weights = q4_1,
                                          .embedding = q8_0,
                                          .num_layers = 1,
                                          .llama3_rope_factors = kind == test::tiny_kind::llama_untied}));
  }
  std::size_t loaded = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    const test::temporary_file file(mutated(originals[i % 5], random));
    SCOPED_TRACE("edit " + std::to_string(i));
    loaded += loads_or_says_why(file.path(), true) ? 1 : 0;
    const auto opened = gguf::file::open(file.path());
    EXPECT_TRUE(!opened || !describe(*opened).empty());
  }
  EXPECT_GT(loaded, 0U);
}

}  // namespace
}  // namespace troupe
