package constraints

// Offering names a way to have an instance: an instance type in a zone, bought in one way.
type Offering struct{ InstanceType, Zone, CapacityType string }

// Refused maps the offerings that EC2 does not launch from a version of a launch template to EC2's
// reason. An empty zone or capacity type stands for all.
type Refused map[Offering]string

// Patterns returns the keys under which an offering may be refused: its own, and the keys that
// stand for several offerings.
func (o Offering) Patterns() []Offering {
	return []Offering{o, {o.InstanceType, "", o.CapacityType}, {o.InstanceType, o.Zone, ""}, {o.InstanceType, "", ""}}
}

// Why returns why EC2 launches nothing of an offering, or "" if nothing says that it does not.
func (r Refused) Why(offering Offering) string {
	if len(r) == 0 {
		return ""
	}
	for _, key := range offering.Patterns() {
		if why, refused := r[key]; refused {
			return why
		}
	}
	return ""
}
