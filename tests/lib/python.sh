# Finds Python and makes the environments that suites need. Sourced by tests/run.sh.

readonly ENVIRONMENTS=tests/.venv

# Whether a command is a Python of at least this version that can make environments.
python_is() {
  "$1" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < ($2, $3))" >/dev/null 2>&1
}

# Prints the newest Python of at least version $1.$2 among the usual names and pyenv's versions.
find_python() {
  local candidate
  local pyenv="${PYENV_ROOT:-$HOME/.pyenv}/versions"
  for candidate in python3.14 python3.13 python3.12 python3 python \
    "$pyenv"/3.14*/bin/python "$pyenv"/3.13*/bin/python "$pyenv"/3.12*/bin/python \
    python3.11 python3.10 "$pyenv"/3.11*/bin/python "$pyenv"/3.10*/bin/python; do
    if python_is "$candidate" "$1" "$2"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Makes the environment $1 from the requirements $2 with a Python of at least $3.$4, unless it is there already.
make_environment() {
  local directory="$ENVIRONMENTS/$1" requirements="$2" python stamp
  python="$(find_python "$3" "$4")" || { skip "no Python $3.$4 or newer with venv and ensurepip"; return; }
  stamp="$("$python" -VV; cat "$requirements")"
  if [ "$(cat "$directory/stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  echo "making $directory with $("$python" -V)"
  rm -rf "$directory"
  "$python" -m venv "$directory" || return 1
  "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" || return 1
  # Last, so that an interrupted installation is made anew.
  echo "$stamp" >"$directory/stamp"
}

# The tools that check and build for AWS. Sets TOOLS_PYTHON.
tools_python() {
  make_environment tools tests/template/requirements.txt 3 10 || return
  TOOLS_PYTHON="$PWD/$ENVIRONMENTS/tools/bin/python"
}

# The SDK that agents use. Sets CLIENT_PYTHON.
client_python() {
  make_environment client tests/compat/requirements.txt 3 12 || return
  CLIENT_PYTHON="$PWD/$ENVIRONMENTS/client/bin/python"
}
