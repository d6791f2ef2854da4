#!/usr/bin/env bash
# Installs the programs of a list besides Go that are missing, where apt does that; elsewhere it
# prints which are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
while IFS=$'\t' read -r package shows; do
	[[ $package == \#* ]] || bash -c "$shows" >/dev/null 2>&1 || missing+=("$package")
done <"hack/packages-${1:-test}.txt"
((${#missing[@]})) || exit 0
if ! command -v apt-get >/dev/null; then
	echo "these programs are missing: ${missing[*]} (named as Debian packages)" >&2
	exit 1
fi
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
