#!/usr/bin/env bash
# What the steps of action.yml run. The inputs come in variables and leave in an array: none is ever read as shell.
set -euo pipefail

fail() {
  echo "::error title=dtypelint::$1"
  exit 2
}

flag() { # NAME VALUE
  case "$2" in
    true | false) ;;
    *) fail "the input $1 is true or false" ;;
  esac
}

flag annotations "$DTYPELINT_ANNOTATIONS"
flag summary "$DTYPELINT_SUMMARY"

work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/dtypelint.XXXXXX")

python=python3
# the version is that of this checkout: the tag that the workflow names
if [ -n "${DTYPELINT_PYTHON:-}" ]; then
  "$DTYPELINT_PYTHON" -m venv "$work/venv"
  bin="$work/venv/bin"
  [ -d "$bin" ] || bin="$work/venv/Scripts"
  python="$bin/python"
  "$python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH"
  PATH="$bin:$PATH"
fi

args=(check --no-color --no-annotate --output "json=$work/report.json")
if [ "$DTYPELINT_ANNOTATIONS" = true ]; then args+=(--output "github=$work/annotations"); fi
if [ "$DTYPELINT_SUMMARY" = true ]; then args+=(--output "markdown=$work/summary.md"); fi
if [ -n "$DTYPELINT_SARIF_FILE" ]; then args+=(--output "sarif=$DTYPELINT_SARIF_FILE"); fi
if [ -n "$DTYPELINT_CONFIG" ]; then args+=("--config=$DTYPELINT_CONFIG"); fi
if [ -n "$DTYPELINT_SELECT" ]; then args+=("--select=$DTYPELINT_SELECT"); fi
if [ -n "$DTYPELINT_FAIL_ON" ]; then args+=("--fail-on=$DTYPELINT_FAIL_ON"); fi
if [ -n "$DTYPELINT_BASELINE" ]; then args+=("--baseline=$DTYPELINT_BASELINE"); fi
if [ -n "$DTYPELINT_DIFF_BASE" ]; then args+=("--diff-base=$DTYPELINT_DIFF_BASE"); fi
args+=(--)
while IFS= read -r path; do
  path=${path%$'\r'}
  if [ -n "$path" ]; then args+=("$path"); fi
done <<< "$DTYPELINT_PATHS"

# what the checked files hold is text for the log, not a command
token=$("$python" -c 'import uuid; print(uuid.uuid4().hex)')
echo "::stop-commands::$token"
status=0
dtypelint "${args[@]}" || status=$?
echo "::$token::"

if [ -s "$work/annotations" ]; then
  echo "::group::dtypelint annotations"
  cat "$work/annotations"
  echo "::endgroup::"
fi
if [ -s "$work/summary.md" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  cat "$work/summary.md" >> "$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  echo "exit-code=$status" >> "$GITHUB_OUTPUT"
  if [ -s "$work/report.json" ]; then
    "$python" - "$work/report.json" >> "$GITHUB_OUTPUT" << 'END'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    summary = json.load(file)["summary"]
print("findings=%d" % sum(summary[key] for key in ("errors", "warnings", "notes")))
print("errors=%d" % summary["errors"])
print("fixable=%d" % summary["fixable"])
END
  fi
fi
rm -rf "$work"
exit "$status"
