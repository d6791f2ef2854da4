package managertest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
)

// leaseDuration and renewDeadline are shorter than the time for which the process is stopped.
const (
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
)

// tryStopped stops the program as a debugger or a frozen machine would, has another leader take its
// lease, gives it plenty to do, and lets it go on.
func tryStopped(t *testing.T, path string) {
	t.Helper()
	w := newWorld(t)
	health := w.freeAddress()
	process, output := command(t, path, []string{
		"KUBECONFIG=" + w.Lab.Kubeconfig(), "AWS_ENDPOINT_URL=" + w.Cloud.Endpoint, "AWS_REGION=" + w.Cloud.Region(),
		"AWS_ACCESS_KEY_ID=" + lab.AccessKeyID(w.Account), "AWS_SECRET_ACCESS_KEY=" + lab.SecretAccessKey,
	}, "--namespace", w.Namespace, "--leader-elect", "--leader-elect-namespace", w.Namespace, "--health-addr", health, "--diagnostics-address=",
		"--leader-elect-lease-duration", leaseDuration.String(), "--leader-elect-renew-deadline", renewDeadline.String(), "--leader-elect-retry-period=500ms",
		"--observe-interval-in-motion", "500ms")
	ended := start(t, process)
	w.Eventually("it is ready", func() error {
		status, body, err := get(t, "http://"+health+"/readyz", "")
		if err == nil && status != http.StatusOK {
			err = errors.New(body)
		}
		return errors.Join(err, running(ended, output))
	})
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return errors.Join(w.settled(poolName), running(ended, output)) })

	if err := process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	for i := range 20 {
		w.applyAs(fmt.Sprintf("later-%d", i))
	}
	w.Eventually("its lease has run out", func() error {
		if time.Since(stopped) < leaseDuration {
			return errNotYet
		}
		return nil
	})
	w.takeLease("another")
	before := w.writes()
	if err := process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.Eventually("it has ended", func() error {
		if running(ended, output) == nil {
			return errNotYet
		}
		return nil
	})
	if after := w.writes(); after != before {
		t.Errorf("it wrote to AWS %d times after another process led:\n%s", after-before, output)
	}
	if holder := w.holder(); holder != "another" {
		t.Errorf("%q holds the lease", holder)
	}
}

// takeLease has another process lead.
func (w *world) takeLease(holder string) {
	w.Helper()
	lease := &coordinationv1.Lease{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: manager.LeaderElectionID}, lease); err != nil {
		w.Fatal(err)
	}
	lease.Spec.HolderIdentity = ptr.To(holder)
	if err := w.Client.Update(w.Context(), lease); err != nil {
		w.Fatal(err)
	}
}

// writes counts the calls that reached AWS and are not for reading.
func (w *world) writes() int {
	count := 0
	for _, call := range w.Cloud.AWS.Calls() {
		if !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Get") && !strings.HasPrefix(call.Action, "List") {
			count++
		}
	}
	return count
}
