# shellcheck shell=bash disable=SC2034
# Shared by the tools: one visible line per stage, its log in a file, the end of that log where it fails.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$root/.deps
logs=$deps/log

fail() {
  printf '\n%s: %s\n' "${0##*/}" "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 3
}

# A bar for what knows its length ("[12/80] …" lines, as ninja prints), else the last line of the log.
draw() {
  local title=$1 log=$2 seconds=$3 last
  last=$(tail -c 400 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^ *$' | tail -n 1) || last=
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
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
  while [[ -t 2 ]] && kill -0 "$pid" 2>/dev/null; do
    draw "$title" "$log" $((SECONDS - start))
    sleep 0.3
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [[ -t 2 ]] && printf '\r\033[K' >&2
  if [[ $status -ne 0 ]]; then
    tail -n 40 "$log" >&2
    fail "$title failed (exit $status); whole log: $log" "$advice"
  fi
  printf '%-10s %4d s  done\n' "$title" $((SECONDS - start)) >&2
}
