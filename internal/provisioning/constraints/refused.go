package constraints

// Offering names a way to have an instance: an instance type in a zone, bought in one way.
type Offering struct{ InstanceType, Zone, CapacityType string }

// Refused are the offerings of which EC2 launches nothing from a version of a launch template, and
// EC2's reason. A zone or a capacity type that is empty stands for all.
type Refused map[Offering]string

// Patterns returns the keys under which an offering may be refused: its own, and those that stand
// for more.
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
