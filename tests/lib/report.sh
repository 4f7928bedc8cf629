# Runs suites one by one and says at the end how each went. Sourced by tests/run.sh.

# What a suite returns when it was not run. Not a code that cargo, Python or a shell uses.
readonly SKIPPED=75

summary_lines=()
failures=0

# Ends a suite that cannot run here: `skip REASON || return`, or as the suite's last command.
skip() {
  echo "$1" >"$skip_reason"
  return "$SKIPPED"
}

# Ends a suite that need not run even under CI=true.
skip_everywhere() {
  echo "allowed" >"$skip_allowed"
  skip "$1"
}

# Runs the function suite_NAME; the suites after it run whatever it says.
run_suite() {
  local name="$1" status=0 started=$SECONDS outcome
  export skip_reason skip_allowed
  skip_reason="$(mktemp)" skip_allowed="$(mktemp)"
  printf '\n=== %s\n' "$name"
  "suite_$name" || status=$?
  if [ "$status" -eq 0 ]; then
    outcome="ok"
  elif [ "$status" -ne "$SKIPPED" ]; then
    outcome="FAILED"
  elif [ "${CI:-}" = true ] && ! [ -s "$skip_allowed" ]; then
    outcome="FAILED: may not be skipped under CI=true: $(cat "$skip_reason")"
  else
    outcome="skipped: $(cat "$skip_reason")"
  fi
  case "$outcome" in FAILED*) failures=$((failures + 1)) ;; esac
  rm -f "$skip_reason" "$skip_allowed"
  summary_lines+=("$(printf '%-12s %5d s  %s' "$name" $((SECONDS - started)) "$outcome")")
  printf '=== %s: %s\n' "$name" "$outcome"
}

# Prints a line per suite; fails when a suite failed.
summary() {
  printf '\n=== summary\n'
  printf '%s\n' "${summary_lines[@]}"
  printf '%-12s %5d s\n' total "$SECONDS"
  [ "$failures" -eq 0 ]
}
