package packing

// PackThoroughly is Pack without what spares it types and nodes to look at.
func PackThoroughly(problem *Problem) *Result {
	p := newPacker(problem)
	p.thorough = true
	return p.pack()
}
