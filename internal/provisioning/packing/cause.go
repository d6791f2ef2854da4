package packing

// Cause classifies, for metrics, why a pod could not be placed.
type Cause string

// The causes. If several provisioners refuse a pod, the one that is closest to launching for it
// decides: the first of these.
const (
	CauseLimits        Cause = "limits"
	CauseNoCapacity    Cause = "no_capacity"
	CauseTopology      Cause = "topology"
	CauseTooLarge      Cause = "too_large"
	CauseIncompatible  Cause = "incompatible"
	CauseNoProvisioner Cause = "no_provisioner"
	CauseLaunch        Cause = "launch" // a node was chosen, and cannot be launched now
	// a PersistentVolumeClaim of the pod is missing, or is bound before the pod is scheduled
	CauseVolume Cause = "volume"
)

// closest are the causes from the closest to a launch on.
var closest = []Cause{CauseLaunch, CauseLimits, CauseNoCapacity, CauseTopology, CauseTooLarge, CauseIncompatible}

// closer returns which of two causes is closer to a launch.
func closer(a, b Cause) Cause {
	for _, cause := range closest {
		if a == cause || b == cause {
			return cause
		}
	}
	return CauseIncompatible
}
