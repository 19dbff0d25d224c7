// A client of plain blocking sockets: sends any bytes, reads what comes.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::net::testing {

struct raw_answer {
  int status = 0;                              // 0: the connection ended before an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
};

// One connection to 127.0.0.1. Reads give up after 20 seconds, as if the connection had ended.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port, int receive_buffer = 0);
  ~raw_client();
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;
  raw_client(raw_client&& other) noexcept;

  bool send(std::string_view bytes);  // false where the server has closed
  void finish_sending();              // half-close
  void close();
  void reset();  // close by RST

  raw_answer read_answer(bool head = false);
  std::string read_exactly(std::size_t bytes);  // shorter where the connection ends
  std::string read_to_end();
  bool at_end();  // waits for the server to close; bytes before that are dropped

  raw_answer get(std::string_view path, std::string_view method = "GET");
  raw_answer post(std::string_view path, std::string_view body, std::string_view headers = "");

 private:
  bool fill();
  std::string read_line();

  int socket_ = -1;
  std::string buffer_;
};

std::string post_text(std::string_view path, std::string_view body, std::string_view headers = "");

// The "data:" payloads of a server-sent event stream.
std::vector<std::string> sse_data(std::string_view body);

}  // namespace troupe::net::testing
