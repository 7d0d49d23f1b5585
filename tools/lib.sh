# shellcheck shell=bash disable=SC2034
# Shared by the tools: one visible line per stage, its log in a file, and where it fails the end of that log and what to do.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$(realpath -m "$root/.deps")
logs=$deps/log

fail() {
  printf '\n%s: %s\n' "${0##*/}" "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 3
}

# Everything that is installed and built lies in the checkout.
need_writable() {
  local folder
  for folder in "$deps" "$logs" "$root/build"; do
    mkdir -p "$folder" 2>/dev/null || true
    [[ -w $folder ]] ||
      fail "cannot write $folder" "What is installed and built lies in the checkout: clone it where $(id -un) may write."
  done
}

# Candidates run in namespaces of their own. Better to hear now that they cannot than after the build.
need_namespaces() {
  unshare --mount --pid --ipc --net --uts --fork true 2>/dev/null && return
  unshare --user --map-root-user --mount --pid --ipc --net --uts --fork true 2>/dev/null && return
  local setting=kernel.apparmor_restrict_unprivileged_userns
  [[ $(sysctl -n "$setting" 2>/dev/null) == 1 ]] &&
    fail "this system lets only root lock programs up, and candidates must be" \
      "Run as root, or allow it until the next boot: sudo sysctl -w $setting=0"
  fail "namespaces cannot be made here, and candidates must be locked up in them" \
    "Run as root. In a container: docker run --privileged, or --cap-add SYS_ADMIN --security-opt seccomp=unconfined."
}

# What a log says about its end, where it is none of ours.
cause() {
  local log=$1 says='grep -qE'
  if $says 'No space left on device|Disk quota exceeded' "$log"; then
    printf '%s has %s MiB free: make room.' "$deps" "$(free_mib "$deps")"
  elif $says 'Killed signal|out of memory|[Vv]irtual memory exhausted' "$log"; then
    echo 'The memory did not suffice. Fewer compilers at a time take less: tools/build -j 1'
  elif $says 'resolv(e|ing)|etwork is unreachable|onnection (refused|timed out)|establish a new connection|Tunnel connection failed|Failed to fetch' "$log"; then
    echo 'The network does not answer. Debian packages and PyPI are needed once; behind a proxy set http_proxy and https_proxy.'
  fi
}

# What the build folder was configured with.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$root/build/CMakeCache.txt" 2>/dev/null || true; }

has_gpu() { nvidia-smi -L 2>/dev/null | grep -q '^GPU 0'; }

free_mib() { df -m --output=avail "$1" | tail -n 1 | tr -d ' '; }

last_line() { tail -c 400 "$1" 2>/dev/null | tr '\r\0' '\n' | grep -av '^ *$' | tail -n 1; }

# Redraws one line on a terminal; elsewhere, in a log, a new line every twenty seconds says that it goes on.
show_progress() {
  local title=$1 log=$2 seconds=$3
  if [[ -t 2 ]]; then
    draw "$title" "$log" "$seconds"
    sleep 0.3
    return
  fi
  ((seconds > 0 && seconds % 20 == 0)) && printf '%-10s %4d s  %.80s\n' "$title" "$seconds" "$(last_line "$log")" >&2
  sleep 1
}

# A bar for what knows its length ("[12/80] …" lines, as ninja prints), else the last line of the log.
draw() {
  local title=$1 log=$2 seconds=$3 last
  last=$(last_line "$log") || last=
  if [[ $last =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
    local count=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} bar
    printf -v bar '%*s' $((24 * count / total)) ''
    printf -v last '[%-24s] %d/%d' "${bar// /#}" "$count" "$total"
  fi
  printf '\r\033[K%-10s %4d s  %.80s' "$title" "$seconds" "$last" >&2
}

# stage TITLE ADVICE COMMAND…: runs it with its output in .deps/log/TITLE.txt.
stage() {
  local title=$1 advice=$2 log=$logs/$1.txt start=$SECONDS status=0
  shift 2
  mkdir -p "$logs"
  set -m # a process group of its own, so that Ctrl-C ends all of it
  "$@" >"$log" 2>&1 </dev/null &
  set +m
  local pid=$!
  trap 'kill -- -"$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    show_progress "$title" "$log" $((SECONDS - start))
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [[ -t 2 ]] && printf '\r\033[K' >&2
  printf '%-10s ' "$title" >&2
  if [[ $status -eq 0 ]]; then
    printf '%4d s  done\n' $((SECONDS - start)) >&2
    return
  fi
  printf '%4d s  failed\n' $((SECONDS - start)) >&2
  tail -n 40 "$log" >&2
  local why
  why=$(cause "$log")
  fail "$title failed (exit $status); whole log: $log" "${why:-$advice}"
}
