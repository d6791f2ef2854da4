package fleet

// Waiting returns how many instances wait to be terminated by the next call.
func (f *Fleets) Waiting() int {
	f.terminations.mu.Lock()
	defer f.terminations.mu.Unlock()
	return len(f.terminations.waiting)
}
