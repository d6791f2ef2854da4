package packing

// Cause is why a pod finds no place, as metrics count it.
type Cause string

// The causes. Of several provisioners, the one that is closest to launching for the pod tells: the
// first of these.
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
