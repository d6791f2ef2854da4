package reconciling_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/reconciling"
)

func TestWritten(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC))
	at := func(version string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", ResourceVersion: version}}
	}
	var written reconciling.Written
	unseen := func(version string, want bool, reason string) {
		t.Helper()
		if got := written.Unseen(at(version), clk); got != want {
			t.Errorf("%s: version %s unseen: %v", reason, version, got)
		}
	}
	unseen("5", false, "nothing was written")
	written.Note(at("5"), at("5"), clk)
	unseen("4", false, "a pass that wrote nothing is nothing to wait for")
	written.Note(at("10"), at("5"), clk)
	unseen("9", true, "the cache lags, and versions are numbers")
	unseen("10", false, "the write is seen")
	unseen("11", false, "so is what came after it")
	unseen("eleven", false, "what can not be compared is taken as it is")
	clk.SetTime(clk.Now().Add(5 * time.Second))
	unseen("9", false, "it will not come any more")
	written.Note(at("12"), at("11"), clk)
	written.Forget(client.ObjectKey{Namespace: "team", Name: "pool"})
	unseen("9", false, "the object is gone")
}
