package packing

// PackThoroughly does what Pack does, but skips no type and no node.
func PackThoroughly(problem *Problem) *Result {
	p := newPacker(problem)
	p.thorough = true
	return p.pack()
}
