#!/usr/bin/env bash
# Starts the program and speaks to it as Reflexio's users do.
#
#   tests/compat/run.sh client    with the Python client; takes Python from $PYTHON or from what tests/run.sh makes
#   tests/compat/run.sh replay    with recorded exchanges, where they are: $RETROSPECT_CONTRACT holds replay.py
set -euo pipefail
cd "$(dirname "$0")/../.."

# A server answers in well under a second; a busy machine may need more. In tenths of a second.
readonly START_TENTHS_MAX=300
# All of a client's or a replay's calls, in seconds.
readonly CALLS_SECONDS_MAX=600
readonly KEY=golden-secret

contract="${RETROSPECT_CONTRACT:-../shared/contract}"
if [ "${1:-}" = replay ] && ! [ -f "$contract/replay.py" ]; then
  echo "no recorded exchanges in '$contract'" >&2
  exit 76
fi

# With the test targets, so that what `cargo test` built already is used again.
cargo build --workspace --bins --tests --locked
program="${CARGO_TARGET_DIR:-target}/debug/retrospect"
logs="$(mktemp -d)"
pids=()

stop() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$logs"
}
trap stop EXIT

# Starts a fresh server with nothing from our environment but the variables given; sets $url.
#   start NAME [VARIABLE=VALUE…] -- [OPTION…]
start() {
  local name="$1" variables=() tenths pid
  shift
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  : >"$logs/$name"
  env -i PATH="$PATH" "${variables[@]}" "$program" serve --ephemeral --port 0 "$@" >"$logs/$name" 2>&1 &
  pid=$!
  pids+=("$pid")
  for ((tenths = 0; tenths < START_TENTHS_MAX; tenths++)); do
    url="$(sed -n 's/^Retrospect listens on \(http[^ ]*\).*/\1/p' "$logs/$name")"
    if [ -n "$url" ]; then
      return
    fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "server $name does not listen:" >&2
  cat "$logs/$name" >&2
  return 1
}

# Asks for no key; models and embedder are the built-in ones.
start_plain() { start plain --; }

# Asks for a key, shows its configuration, and cannot reach its embedder.
start_keyed() {
  start keyed \
    RETROSPECT_ALLOW_MY_CONFIG=true \
    RETROSPECT_EMBEDDING_BASE_URL=http://127.0.0.1:9/v1 \
    RETROSPECT_EMBEDDING_API_KEY=x \
    RETROSPECT_EMBEDDING_MODEL=closed-port \
    -- --api-key "$KEY"
}

run_client() {
  local python="${PYTHON:-tests/.venv/client/bin/python}"
  start_plain
  timeout "$CALLS_SECONDS_MAX" "$python" tests/compat/client.py "$url"
  start_keyed
  timeout "$CALLS_SECONDS_MAX" "$python" tests/compat/client.py "$url" --key "$KEY" --my-config
}

run_replay() {
  local plain
  start_plain
  plain="$url"
  start_keyed
  timeout "$CALLS_SECONDS_MAX" "${PYTHON:-python3}" "$contract/replay.py" "$plain" --keybase "$url" \
    --routes tests/compat/routes.txt --deviations tests/compat/deviations.txt
}

case "${1:-}" in
  client) run_client ;;
  replay) run_replay ;;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
