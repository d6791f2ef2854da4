package apiserver

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Load stores objects of another API server as they are there, with their UIDs, generations, times,
// and status. Each gets a resource version of this server. An object of the same kind and name is
// replaced.
func (s *Server) Load(objects ...client.Object) error {
	direct := &directClient{server: s}
	for _, object := range objects {
		loaded, err := direct.sent(object)
		if err != nil {
			return fmt.Errorf("loading %s: %w", object.GetName(), err)
		}
		if _, err := s.kinds.rulesOf(loaded.GroupVersionKind()); err != nil {
			return fmt.Errorf("loading %s: %w", object.GetName(), err)
		}
		loaded = loaded.DeepCopy()
		s.mu.Lock()
		s.put(keyOf(loaded), s.objects[keyOf(loaded)], loaded)
		s.mu.Unlock()
	}
	return nil
}
