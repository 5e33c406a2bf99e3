#!/usr/bin/env bash
# Measures the models, writes what changed into the run's summary and the pull request, and fails where it is worse.
# Without BASELINE, the models of the commit BASE are measured first.
set -u

comment="$RUNNER_TEMP/solder-changes.md"
read -ra models <<< "$MODELS"
read -ra boards <<< "$BOARDS"
read -ra options <<< "$OPTIONS"

measure() {
    deploy bench "${@}" --board "${boards[@]}" --layers "${options[@]}"
}

if [ -z "$BASELINE" ]; then
    BASELINE="$RUNNER_TEMP/solder-baseline.json"
    base="$RUNNER_TEMP/solder-base"
    git fetch -q --depth=1 origin "$BASE" && git worktree add -q --detach "$base" FETCH_HEAD || exit 1
    there=()
    for model in "${models[@]}"; do
        [ -f "$base/$model" ] && there+=("$model")
    done
    if [ "${#there[@]}" -eq 0 ]; then
        echo "[]" > "$BASELINE"
    else
        # A model that could not be measured there is in the file, too, and counts as new.
        (cd "$base" && measure "${there[@]}" --json) > "$BASELINE" || [ -s "$BASELINE" ] || exit 1
    fi
    git worktree remove --force "$base"
fi

echo "### Cycles, RAM and flash" > "$comment"
measure "${models[@]}" --baseline "$BASELINE" --worse "$WORSE" --markdown >> "$comment"
status=$?

cat "$comment" >> "$GITHUB_STEP_SUMMARY"
if [ -n "$PULL_REQUEST" ]; then
    # The comment of the last run is replaced, where there is one.
    gh pr comment "$PULL_REQUEST" --edit-last --body-file "$comment" ||
        gh pr comment "$PULL_REQUEST" --body-file "$comment"
fi
exit "$status"
