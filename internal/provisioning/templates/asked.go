package templates

import (
	"slices"
	"sync"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Asked are the launch templates that waiting pods name themselves, by the provisioner that could
// launch for them, for whoever says what they come to. They live in memory alone: who launches
// finds them again. It is safe for concurrent use.
type Asked struct {
	// Wake is told of a provisioner for which others are named. It must not block.
	Wake func(provisioner string)

	mu sync.Mutex
	by map[string][]constraints.Reference
}

// Set remembers what is named now, in place of what was, for all provisioners.
func (a *Asked) Set(named map[string][]constraints.Reference) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for provisioner := range a.by {
		if len(named[provisioner]) == 0 {
			a.Wake(provisioner)
		}
	}
	for provisioner, references := range named {
		if !slices.Equal(a.by[provisioner], references) {
			a.Wake(provisioner)
		}
	}
	a.by = named
}

// Of is what is named for a provisioner.
func (a *Asked) Of(provisioner string) []constraints.Reference {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.by[provisioner])
}
