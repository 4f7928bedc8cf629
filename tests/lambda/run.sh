#!/usr/bin/env bash
# Builds the functions as a deployment does and lets them answer events in the Lambda runtime interface emulator.
# Takes Python from $PYTHON or from the environment that tests/run.sh makes.
set -euo pipefail
cd "$(dirname "$0")/../.."

python="${PYTHON:-tests/.venv/tools/bin/python}"
if ! [ -x "$(command -v "$python")" ]; then
  echo "no Python at '$python': run tests/run.sh, or set PYTHON" >&2
  exit 2
fi
tools="$(cd "$(dirname "$(command -v "$python")")" && pwd)"
export PATH="$tools:$PATH"

# The newest C library that Lambda's provided.al2023 offers.
readonly GLIBC_MAX=2.34
# Fat LTO of a whole function on a slow machine, in seconds.
readonly BUILD_SECONDS_MAX=1800
# All events of one function, its start included, in seconds.
readonly EVENTS_SECONDS_MAX=120

lambda_dir="${CARGO_TARGET_DIR:-target}/lambda"
for function in api learn; do
  # As `sam build` calls it, but for this machine and with the linker that is here: nothing is downloaded.
  timeout "$BUILD_SECONDS_MAX" cargo lambda build --release --bin "$function" \
    --compiler cargo --skip-target-check --locked
  bootstrap="$lambda_dir/$function/bootstrap"
  needed="$(readelf --dyn-syms --wide "$bootstrap" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)"
  printf '%s: %s bytes, needs GLIBC %s\n' "$function" "$(stat -c %s "$bootstrap")" "$needed"
  if [ "$(printf '%s\n' "$GLIBC_MAX" "$needed" | sort -V | tail -n 1)" != "$GLIBC_MAX" ]; then
    echo "$function needs GLIBC $needed; Lambda has $GLIBC_MAX" >&2
    exit 1
  fi
  timeout "$EVENTS_SECONDS_MAX" "$python" tests/lambda/answer.py "$function" "$bootstrap"
done
