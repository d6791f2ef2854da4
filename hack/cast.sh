#!/usr/bin/env bash
# Prints the terminal session of README.md: the plan of an edit, the edit, and its roll-out. It runs in a laboratory, with
# slipway and kubectl in the PATH:
#
#     bin/lab run --cluster capa --clock-rate 150 -- hack/cast.sh
#
# Only what a reader waits for is left out. TestReadme in lab/cmd/lab compares the session with README.md.
set -euo pipefail

pool=capa-mp-0

# show prints a command and runs it. Status 2 of a plan means that the edit changes something in AWS.
show() {
  echo "\$ $1"
  bash -c "$1" || (($? == 2))
}

# clock sets or moves the simulated time.
clock() { curl -sSf -o /dev/null -d "$1" "$AWS_ENDPOINT_URL/_sim/clock"; }

# until_status waits until a line of `slipway status` matches, and runs a command while it does not.
until_status() {
  local pattern=$1 end=$((SECONDS + 120))
  until slipway status | grep -Eq "$pattern"; do
    ((SECONDS < end)) || { echo "slipway status does not show $pattern:"; slipway status; exit 1; } >&2
    "${@:2}"
  done
}

kubectl apply -f examples/machinepool.yaml >/dev/null
kubectl patch awsmachinepool $pool --type merge -p '{"spec":{"refreshPreferences":{"instanceWarmup":300}}}' >/dev/null
until_status "Converged +2/2 +2/2 +1 " sleep 0.5

show "slipway plan $pool --set spec.awsLaunchTemplate.instanceType=m6i.large"
clock '{"rate": 0}' # the roll-out stops where it is shown
show "kubectl patch awsmachinepool $pool --type merge -p '{\"spec\":{\"awsLaunchTemplate\":{\"instanceType\":\"m6i.large\"}}}'"
until_status "RollingOut .* 1/2 +2 " clock '{"step": "10s"}'
show "slipway status"
clock '{"rate": 150}'
until_status "Converged +2/2 +2/2 +2 " sleep 0.5
show "slipway history $pool"
