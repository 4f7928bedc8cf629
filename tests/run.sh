#!/usr/bin/env bash
# Runs the tests.
#
#   tests/run.sh            everything
#   tests/run.sh --quick    format, lints and unit tests: before you show a change
#   tests/run.sh SUITE…     only these: format clippy unit integration docs template lambda client replay
#
# Suites of the Rust code need the Rust toolchain alone. The others need Python, of which they make environments in
# tests/.venv; without Python they are skipped, and said to be. Under CI=true nothing may be skipped, except the
# replay of recorded exchanges, which are no part of this repository.
set -uo pipefail
cd "$(dirname "$0")/.."

source tests/lib/report.sh
source tests/lib/python.sh

readonly QUICK=(format clippy unit)
readonly FULL=("${QUICK[@]}" integration docs template lambda client replay)

suite_format() { cargo fmt --all --check; }
suite_clippy() { cargo clippy --workspace --all-targets --locked --keep-going -- -D warnings; }
suite_unit() { cargo test --workspace --lib --bins --locked --no-fail-fast; }
suite_integration() { cargo test --workspace --test '*' --locked --no-fail-fast; }
suite_docs() { cargo test --workspace --doc --locked --no-fail-fast; }

suite_template() {
  tools_python || return
  PYTHON="$TOOLS_PYTHON" tests/template/check.sh
}

suite_lambda() {
  [ "$(uname -s)" = Linux ] || { skip "the Lambda runtime emulator runs on Linux only"; return; }
  tools_python || return
  PYTHON="$TOOLS_PYTHON" tests/lambda/run.sh
}

suite_client() {
  client_python || return
  PYTHON="$CLIENT_PYTHON" tests/compat/run.sh client
}

suite_replay() {
  local python
  python="$(find_python 3 9)" || { skip "no Python 3.9 or newer"; return; }
  PYTHON="$python" tests/compat/run.sh replay
  local status=$?
  if [ "$status" -eq 76 ]; then
    skip_everywhere "no recorded exchanges on this machine"
    return
  fi
  return "$status"
}

case "${1:-}" in
  "") suites=("${FULL[@]}") ;;
  --quick) suites=("${QUICK[@]}") ;;
  -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) suites=("$@") ;;
esac
for suite in "${suites[@]}"; do
  case " ${FULL[*]} " in
    *" $suite "*) ;;
    *) echo "no suite '$suite'; there are: ${FULL[*]}" >&2; exit 2 ;;
  esac
done
for suite in "${suites[@]}"; do
  run_suite "$suite"
done
summary
