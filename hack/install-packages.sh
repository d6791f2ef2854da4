#!/usr/bin/env bash
# Installs what the tests use besides Go, where apt does that; elsewhere it says what is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Any working copy will do, from wherever it came.
if aws --version >/dev/null 2>&1 && python3 -c 'import boto3' >/dev/null 2>&1; then
	exit 0
fi
mapfile -t packages < <(grep -v '^#' hack/apt-packages.txt)
if ! command -v apt-get >/dev/null; then
	echo "the tests need: ${packages[*]} (or the same by other means)" >&2
	exit 1
fi
missing=()
for package in "${packages[@]}"; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
((${#missing[@]})) || exit 0
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
