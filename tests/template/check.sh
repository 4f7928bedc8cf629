#!/usr/bin/env bash
# Checks infra/template.yaml without a network: the SAM form, then what SAM translates it to.
# Takes Python from $PYTHON or from the environment that tests/run.sh makes.
set -euo pipefail
cd "$(dirname "$0")/../.."

python="${PYTHON:-tests/.venv/tools/bin/python}"
if ! [ -x "$(command -v "$python")" ]; then
  echo "no Python at '$python': run tests/run.sh, or set PYTHON" >&2
  exit 2
fi
sam="$(dirname "$(command -v "$python")")/sam"

export SAM_CLI_TELEMETRY=0
"$sam" validate --lint --region us-east-1 --template infra/template.yaml
"$python" tests/template/translate.py infra/template.yaml
echo "template: ok"
