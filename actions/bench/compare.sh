#!/usr/bin/env bash
# Measures the models, writes what changed into the run's summary and the pull request, and fails where it is worse.
set -u

comment="$RUNNER_TEMP/solder-changes.md"
read -ra models <<< "$MODELS"
read -ra boards <<< "$BOARDS"
read -ra options <<< "$OPTIONS"

echo "### Cycles, RAM and flash" > "$comment"
deploy bench "${models[@]}" --board "${boards[@]}" --layers "${options[@]}" \
    --baseline "$BASELINE" --worse "$WORSE" --markdown >> "$comment"
status=$?

cat "$comment" >> "$GITHUB_STEP_SUMMARY"
if [ -n "$PULL_REQUEST" ]; then
    # The comment of the last run is replaced, where there is one.
    gh pr comment "$PULL_REQUEST" --edit-last --body-file "$comment" ||
        gh pr comment "$PULL_REQUEST" --body-file "$comment"
fi
exit "$status"
