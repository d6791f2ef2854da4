package reconciletest

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Scheme returns a scheme with the kinds that functions such as corev1.AddToScheme add.
func Scheme(t testing.TB, kinds ...func(*runtime.Scheme) error) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range kinds {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}
