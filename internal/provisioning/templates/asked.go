package templates

import (
	"slices"
	"sync"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Asked holds the launch templates that waiting pods name themselves, by the provisioner that could
// launch for them, so that another controller can report them. They are kept only in memory: the
// launching controller finds them again. It is safe for concurrent use.
type Asked struct {
	// Wake is called for a provisioner when pods name different launch templates for it. It must
	// not block.
	Wake func(provisioner string)

	mu sync.Mutex
	by map[string][]constraints.Reference
}

// Set replaces the named launch templates of all provisioners.
func (a *Asked) Set(named map[string][]constraints.Reference) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for provisioner, before := range a.by {
		if len(before) > 0 && len(named[provisioner]) == 0 {
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

// Of returns the launch templates that pods name for a provisioner.
func (a *Asked) Of(provisioner string) []constraints.Reference {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.by[provisioner])
}
