package observe_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/aws/observe"
)

func TestPace(t *testing.T) {
	t.Parallel()
	object := func(i int) types.NamespacedName { return types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)} }
	pace := observe.NewPace(15*time.Second, 200*time.Millisecond)
	for _, row := range []struct {
		reason  string
		members int
		want    time.Duration
	}{
		{"one goes at the shortest", 1, 15 * time.Second},
		{"so do as many as fit into the rate", 75, 15 * time.Second},
		{"one more, and all wait", 76, 15200 * time.Millisecond},
		{"a thousand look no more often together", 1000, 200 * time.Second},
	} {
		for i := range row.members {
			pace.Join(object(i))
		}
		if got := pace.Join(object(0)); got != row.want {
			t.Errorf("%s: %v between two looks, want %v", row.reason, got, row.want)
		}
	}
	for i := 1; i < 1000; i++ {
		pace.Leave(object(i))
		pace.Leave(object(i))
	}
	if got := pace.Join(object(0)); got != 15*time.Second {
		t.Errorf("those that left still count: %v between two looks", got)
	}
}
