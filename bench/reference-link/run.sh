#!/bin/sh
# Builds the stacks, prints the tables and writes target/goodput.json, target/goodput.svg and target/cost.json.
# LWIP_DIR names lwIP's source and TCPLP_DIR OpenThread's; without one its rows are left out.
# Arguments go to the table.
set -eu
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-target}
# smoltcp's reassembly slots are a Cargo feature, so its two configurations are two executables.
LWIP_DIR='' TCPLP_DIR='' cargo build --release --locked --quiet --features smoltcp-four-slots
mkdir -p target
cp "$target/release/reference-link" "target/four-slots"
cargo build --release --locked --quiet
"$target/release/reference-link" table --also target/four-slots --json target/goodput.json \
    --picture target/goodput.svg "$@"
if command -v valgrind >/dev/null; then
    echo
    "$target/release/reference-link" cost --json target/cost.json
else
    echo "valgrind is not installed: no instruction counts" >&2
fi
