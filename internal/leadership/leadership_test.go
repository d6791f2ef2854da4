package leadership

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const limit = 10 * time.Second

// clocks are both clocks of a machine.
type clocks struct{ reading }

func (c *clocks) read() reading { return c.reading }

func (c *clocks) step(wall, monotonic time.Duration) {
	c.wall, c.monotonic = c.wall.Add(wall), c.monotonic+monotonic
}

// rig is a lease in an API server, watched by one of two candidates.
type rig struct {
	*testing.T
	clocks *clocks
	lease  *Lease
	lock   resourcelock.Interface
	logged *[]string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	api := fake.NewClientset()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "slipway-system", "lease", api.CoreV1(), api.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: "me"})
	if err != nil {
		t.Fatal(err)
	}
	now := &clocks{reading{wall: time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)}}
	lease := NewLease(limit)
	lease.now = now.read
	logged := &[]string{}
	log := funcr.New(func(_, line string) { *logged = append(*logged, line) }, funcr.Options{})
	return &rig{T: t, clocks: now, lease: lease, lock: lease.Watch(lock, log), logged: logged}
}

func (r *rig) write(write func(context.Context, resourcelock.LeaderElectionRecord) error, holder string) {
	r.Helper()
	if err := write(r.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) want(reason string, may bool) {
	r.Helper()
	err := r.lease.Check()
	var stale *StaleError
	if (err == nil) != may || err != nil && !errors.As(err, &stale) {
		r.Errorf("%s: %v, want that it may write: %t", reason, err, may)
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason          string
		wall, monotonic time.Duration
		may             bool
	}{
		{"nothing happened", 0, 0, true},
		{"as old as is allowed", limit, limit, true},
		{"a process that was stopped", limit + 1, limit + 1, false},
		{"a machine that was frozen, and has the time again", time.Hour, time.Second, false},
		{"a wall clock that was set back", -time.Hour, limit + 1, false},
	} {
		r := newRig(t)
		r.want("a process that does not lead yet", false)
		r.write(r.lock.Create, "me")
		r.clocks.step(row.wall, row.monotonic)
		r.want(row.reason, row.may)
		r.write(r.lock.Update, "me")
		r.want("after it was renewed", true)
	}
	var none *Lease
	if err := none.Check(); err != nil {
		t.Errorf("without leader election: %v", err)
	}
}

// TestLeaseIsNotHeld holds that a write which failed renews nothing, that one which took long
// counts from its beginning, and that a lease given back is not held.
func TestLeaseIsNotHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(r.lock.Create, "me")
	r.clocks.step(limit, limit)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	failing := &watched{Interface: &slow{Interface: r.lock.(*watched).Interface, clocks: r.clocks, err: ended.Err()}, lease: r.lease}
	if err := failing.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err == nil {
		t.Fatal("no error")
	}
	r.want("after an update that failed", false)

	r.write(r.lock.Update, "me")
	slowly := &watched{Interface: &slow{Interface: r.lock.(*watched).Interface, clocks: r.clocks}, lease: r.lease}
	r.write(slowly.Update, "me")
	r.want("after an update that took longer than the limit", false)

	r.write(r.lock.Update, "me")
	r.write(r.lock.Update, "")
	r.want("after it was given back", false)
}

// TestLeaseOfAnotherIsNotGivenBack holds that a process which resumes does not take the leadership
// from the one that took over.
func TestLeaseOfAnotherIsNotGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(r.lock.Create, "me")
	// Another process writes the lease past this one's memory of it.
	r.write(r.lock.(*watched).Interface.Update, "another")
	if _, _, err := r.lock.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err == nil {
		t.Error("the lease of another was given back")
	}
	record, _, err := r.lock.Get(t.Context())
	if err != nil || record.HolderIdentity != "another" {
		t.Errorf("the lease is that of %+v, error %v", record, err)
	}
	r.want("afterwards", false)
}

// TestOtherHoldersAreLogged holds that a process which waits names the holder of the lease, once, so
// that one which waits for another installation for ever does not do so in silence.
func TestOtherHoldersAreLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	another := r.lock.(*watched).Interface
	read := func() {
		if _, _, err := r.lock.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.write(another.Create, "blue")
	read()
	read()
	r.write(another.Update, "green")
	read()
	r.write(another.Update, "")
	read()
	r.write(r.lock.Update, "me")
	read()
	const waiting = `"level"=0 "msg"="Waiting until the lease is free, because another process is the leader" "lease"="slipway-system/lease" "holder"=`
	if diff := cmp.Diff([]string{waiting + `"blue"`, waiting + `"green"`}, *r.logged); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// TestLeaseIsGivenBackAfterARenewal holds that a renewal whose answer was not awaited does not
// keep the next process from leading until the lease expires.
func TestLeaseIsGivenBackAfterARenewal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, renewedBy string
		released          bool
	}{
		{"the renewal was this process's own", "me", true},
		{"another process took the lease over", "another", false},
	} {
		r := newRig(t)
		r.write(r.lock.Create, "me")
		inner := &renewing{Interface: r.lock.(*watched).Interface, by: row.renewedBy}
		r.lock.(*watched).Interface = inner
		err := r.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{})
		record, _, readErr := r.lock.Get(t.Context())
		if readErr != nil {
			t.Fatal(readErr)
		}
		if released := err == nil && record.HolderIdentity == ""; released != row.released {
			t.Errorf("%s: given back: %t, want %t: %+v, error %v", row.reason, released, row.released, record, err)
		}
	}
}

// renewing is a lock that conflicts with a renewal the first time that it is written.
type renewing struct {
	resourcelock.Interface
	by      string
	renewed bool
}

// Update implements resourcelock.Interface.
func (r *renewing) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if r.renewed {
		return r.Interface.Update(ctx, record)
	}
	r.renewed = true
	if err := r.Interface.Update(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: r.by, LeaseDurationSeconds: 15}); err != nil {
		return err
	}
	return apierrors.NewConflict(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "lease", errors.New("the object has been modified"))
}

// slow is a lock whose updates take longer than the limit.
type slow struct {
	resourcelock.Interface
	clocks *clocks
	err    error
}

// Update implements resourcelock.Interface.
func (s *slow) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	s.clocks.step(limit+1, limit+1)
	return errors.Join(s.err, s.Interface.Update(ctx, record))
}

// answers is a transport that answers everything.
type answers struct{}

func (answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestGuard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, row := range []struct {
		method, path string
		always       bool
	}{
		{http.MethodGet, "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/a/awsmachinepools/b", true},
		{http.MethodPatch, "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/a/awsmachinepools/b/status", false},
		{http.MethodDelete, "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines/b", false},
		{http.MethodPost, "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/a/awslaunchconfigs", false},
		{http.MethodPost, "/api/v1/namespaces/a/pods/b/eviction", false},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", true},
		{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/a/events", true},
		{http.MethodPost, "/api/v1/namespaces/a/events", true},
		{http.MethodPatch, "/api/v1/namespaces/a/events/b", true},
		{http.MethodPatch, "/api/v1/namespaces/events/pods/b", false},
		{http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
	} {
		request, err := http.NewRequestWithContext(t.Context(), row.method, "https://example.com"+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		send := func(lease *Lease) error {
			response, err := lease.Guard(answers{}).RoundTrip(request)
			if response != nil {
				_ = response.Body.Close()
			}
			return err
		}
		if err := send(r.lease); (err == nil) != row.always {
			t.Errorf("%s %s without a lease: %v", row.method, row.path, err)
		}
		if err := send(nil); err != nil {
			t.Errorf("%s %s without leader election: %v", row.method, row.path, err)
		}
	}
}
