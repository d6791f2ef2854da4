package managertest

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// candidate is a manager that works when it leads.
type candidate struct {
	*lab.RunningManager
	kubernetes, aws line
}

func (w *world) startCandidate() *candidate {
	w.Helper()
	c := &candidate{}
	running, err := w.Lab.StartManager(w.Context(), w.ManagerEnv(), product.Manager(product.Settings{
		WrapKubernetes: c.kubernetes.wrap, WrapAWS: c.aws.wrap,
		Change: func(options *manager.Options) {
			options.LeaderElection = manager.LeaderElection{
				// Long enough that the lease is not lost on a busy machine.
				Enabled: true, Namespace: w.Namespace, LeaseDuration: 12 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 250 * time.Millisecond,
			}
		},
	}))
	if err != nil {
		w.Fatal(err)
	}
	c.RunningManager = running
	w.Cleanup(func() { _ = running.Stop() }) // one that lost its lease has said so in the test
	return c
}

// holder returns the holder of the lease, empty for none.
func (w *world) holder() string {
	w.Helper()
	lease := &coordinationv1.Lease{}
	err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: manager.LeaderElectionID}, lease)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestOneLeadsAndTheOtherTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.startCandidate()
	w.Eventually("the first manager leads", func() error {
		if w.holder() == "" {
			return errNotYet
		}
		return nil
	})
	leader := w.holder()
	second := w.startCandidate()
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return w.settled(poolName) })
	if asked := second.aws.count.Load(); asked > 0 || first.aws.count.Load() == 0 {
		t.Fatalf("the leader called AWS %d times, and the one who waits %d times", first.aws.count.Load(), asked)
	}

	// The leader is cut off from the API server, as by a broken network: it must stop by itself,
	// before another leads.
	first.kubernetes.cut.Store(true)
	w.Eventually("the other manager leads", func() error {
		if now := w.holder(); now == leader || now == "" {
			return errNotYet
		}
		return nil
	})
	before := first.aws.count.Load()
	w.Eventually("the manager without the lease has ended", func() error {
		select {
		case <-first.Done():
			return nil
		default:
			return errNotYet
		}
	})
	if err := first.Stop(); err == nil {
		t.Error("the manager that lost its lease ended without an error")
	}
	w.edit(poolName, func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.Eventually("the other manager has rolled the edit out", func() error { return w.settled(poolName) })
	if after := first.aws.count.Load(); after != before {
		t.Errorf("the manager without the lease called AWS %d times more", after-before)
	}
	for action, want := range map[string]int{"CreateLaunchTemplate": 1, "CreateLaunchTemplateVersion": 1, "CreateAutoScalingGroup": 1, "StartInstanceRefresh": 1} {
		if got := w.count(action); got != want {
			t.Errorf("%s was done %d times, want %d", action, got, want)
		}
	}

	// A manager that is stopped gives the lease back, so that the next need not wait for it to
	// expire.
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	if now := w.holder(); now != "" {
		t.Errorf("%s holds the lease of a manager that has ended", now)
	}
}
