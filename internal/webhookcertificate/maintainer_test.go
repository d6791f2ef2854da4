package webhookcertificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const (
	day  = 24 * time.Hour
	host = "slipway-webhook.slipway-system.svc"
)

var (
	secretKey = types.NamespacedName{Namespace: "slipway-system", Name: "slipway-webhook-certificate"}
	elected   = closed()
)

func closed() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// cluster is an API server with the objects that an installation has, before any replica has run.
type cluster struct {
	*testing.T
	client.Client
	clock *clocktesting.FakeClock

	mu     sync.Mutex
	writes int
	// written is called after every write; nil for not.
	written func()
}

func newCluster(t *testing.T, change ...func(*admissionv1.ValidatingWebhookConfiguration)) *cluster {
	t.Helper()
	c := &cluster{T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	service := &admissionv1.ServiceReference{Namespace: "slipway-system", Name: "slipway-webhook"}
	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slipway"},
		Webhooks: []admissionv1.ValidatingWebhook{
			{Name: "pools", ClientConfig: admissionv1.WebhookClientConfig{Service: service}},
			{Name: "configs", ClientConfig: admissionv1.WebhookClientConfig{Service: service, CABundle: []byte("an old one")}},
		},
	}
	for _, f := range change {
		f(configuration)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretKey.Namespace, Name: secretKey.Name}}
	c.Client = fake.NewClientBuilder().WithObjects(secret, configuration).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return c.note(next.Update(ctx, object, options...))
		},
		Patch: func(ctx context.Context, next client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return c.note(next.Patch(ctx, object, patch, options...))
		},
	}).Build()
	return c
}

// note counts a write that succeeded.
func (c *cluster) note(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.writes++
		if c.written != nil {
			c.written()
		}
	}
	return err
}

// replica returns a replica, which leads if the channel is closed.
func (c *cluster) replica(leads <-chan struct{}) *Maintainer {
	return &Maintainer{
		Reader: c.Client, Writer: c.Client, Secret: secretKey, Configuration: "slipway", Elected: leads, Served: &Served{},
		Clock: c.clock, Lifetimes: DefaultLifetimes, Interval: DefaultInterval, Log: logr.Discard(),
	}
}

func (c *cluster) configuration() *admissionv1.ValidatingWebhookConfiguration {
	c.Helper()
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.Get(c.Context(), types.NamespacedName{Name: "slipway"}, configuration); err != nil {
		c.Fatal(err)
	}
	return configuration
}

func (c *cluster) secret() *corev1.Secret {
	c.Helper()
	secret := &corev1.Secret{}
	if err := c.Get(c.Context(), secretKey, secret); err != nil {
		c.Fatal(err)
	}
	return secret
}

// trusts returns nil if the API server trusts what a replica serves, for every webhook.
func (c *cluster) trusts(replica *Maintainer, name string) error {
	c.Helper()
	served, err := replica.Served.GetCertificate(nil)
	if err != nil {
		return err
	}
	for _, webhook := range c.configuration().Webhooks {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(webhook.ClientConfig.CABundle) {
			return fmt.Errorf("webhook %s has no authority", webhook.Name)
		}
		if _, err := served.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: c.clock.Now()}); err != nil {
			return fmt.Errorf("asking webhook %s: %w", webhook.Name, err)
		}
	}
	return nil
}

// TestCertificateIsMadeOnce holds that a leader makes what is missing, that the API server trusts
// it, and that nothing is written after that.
func TestCertificateIsMadeOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	leader, waiting := c.replica(elected), c.replica(make(chan struct{}))
	if err := waiting.maintain(t.Context()); err != nil || c.writes > 0 {
		t.Fatalf("a replica that waits wrote %d times (error %v)", c.writes, err)
	}
	if _, err := waiting.Served.GetCertificate(nil); err == nil {
		t.Error("a certificate is served that there is not")
	}
	if err := leader.maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	made := c.writes
	for _, replica := range []*Maintainer{leader, waiting} {
		if err := replica.maintain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.trusts(replica, host); err != nil {
			t.Error(err)
		}
	}
	if made != 3 || c.writes != made {
		t.Errorf("there were %d writes, and %d after that; want 3 and none", made, c.writes-made)
	}
}

// TestRotationIsNeverNoticed goes through three years. After every write, and at every moment
// between, the API server trusts what each replica serves, though the one that waits looks once a
// day.
func TestRotationIsNeverNoticed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	leader, waiting := c.replica(elected), c.replica(make(chan struct{}))
	maintain := func(replica *Maintainer) {
		t.Helper()
		if err := replica.maintain(t.Context()); err != nil {
			t.Fatalf("on %s: %v", c.clock.Now(), err)
		}
	}
	maintain(leader)
	maintain(waiting)
	check := func(when string) {
		t.Helper()
		for _, replica := range []*Maintainer{leader, waiting} {
			if err := c.trusts(replica, host); err != nil {
				t.Fatalf("%s on %s: %v", when, c.clock.Now(), err)
			}
		}
	}
	c.written = func() { check("after a write") }
	authorities, certificates := map[string]bool{}, map[string]bool{}
	for range 3 * 365 {
		c.clock.Step(day)
		check("before the replicas have looked")
		maintain(leader)
		check("while one has looked")
		maintain(waiting)
		signer, err := readAuthority(c.secret())
		if err != nil {
			t.Fatal(err)
		}
		if len(signer.certificates) > 2 {
			t.Fatalf("on %s %d authorities are trusted, want at most 2", c.clock.Now(), len(signer.certificates))
		}
		authorities[string(signer.certificates[0].Raw)] = true
		certificates[string(c.secret().Data[corev1.TLSCertKey])] = true
	}
	// An authority lasts 487 days, and a serving certificate 60.
	if got := len(authorities); got != 3 {
		t.Errorf("there were %d authorities, want 3", got)
	}
	if got := len(certificates); got < 18 || got > 22 {
		t.Errorf("there were %d serving certificates, want one every 60 days", got)
	}
}

// TestTwoReplicasDoNotFight has two replicas without leader election start at once.
func TestTwoReplicasDoNotFight(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	replicas := []*Maintainer{c.replica(elected), c.replica(elected)}
	var group sync.WaitGroup
	for _, replica := range replicas {
		group.Go(func() {
			for range 20 {
				if err := replica.maintain(t.Context()); err != nil && !apierrors.IsConflict(err) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	before := c.writes
	for _, replica := range replicas {
		if err := replica.maintain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.trusts(replica, host); err != nil {
			t.Error(err)
		}
	}
	if c.writes != before {
		t.Errorf("replicas write %d times more once they agree", c.writes-before)
	}
	served := func(i int) []byte { return replicas[i].Served.current.Load().Certificate[0] }
	if !bytes.Equal(served(0), served(1)) {
		t.Error("the replicas serve different certificates")
	}
}

// TestDamageIsRepaired has the leader make anew what it cannot use.
func TestDamageIsRepaired(t *testing.T) {
	t.Parallel()
	other := newCluster(t)
	if err := other.replica(elected).maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign := other.secret().Data
	for _, row := range []struct {
		reason string
		damage func(*testing.T, *cluster)
		writes int
	}{
		{"another client emptied the Secret", inSecret(func(data map[string][]byte) { clear(data) }), 3},
		{"the authority is no certificate", inSecret(func(data map[string][]byte) { data[authorityCertificateKey] = []byte("none") }), 3},
		{"the key belongs to another authority", inSecret(func(data map[string][]byte) { data[authorityKeyKey] = foreign[authorityKeyKey] }), 3},
		{"the certificate is of another authority", inSecret(func(data map[string][]byte) {
			data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = foreign[corev1.TLSCertKey], foreign[corev1.TLSPrivateKeyKey]
		}), 1},
		{"the certificate is without its key", inSecret(func(data map[string][]byte) { delete(data, corev1.TLSPrivateKeyKey) }), 1},
		{"another client applied the configuration without the authority", inConfiguration(func(webhook *admissionv1.ValidatingWebhook) { webhook.ClientConfig.CABundle = nil }), 1},
		{"the API server asks another host", inConfiguration(func(webhook *admissionv1.ValidatingWebhook) {
			webhook.ClientConfig.Service, webhook.ClientConfig.URL = nil, ptr.To("https://127.0.0.1:9443/validate")
		}), 1},
		{"the manager was off for a year", func(_ *testing.T, c *cluster) { c.clock.Step(365 * day) }, 1},
		{"the manager was off for three years", func(_ *testing.T, c *cluster) { c.clock.Step(3 * 365 * day) }, 3},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			leader := c.replica(elected)
			if err := leader.maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			row.damage(t, c)
			before := c.writes
			if err := leader.maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := c.writes - before; got != row.writes {
				t.Errorf("it took %d writes, want %d", got, row.writes)
			}
			asked := host
			if c.configuration().Webhooks[0].ClientConfig.URL != nil {
				asked = "127.0.0.1"
			}
			if err := c.trusts(leader, asked); err != nil {
				t.Error(err)
			}
		})
	}
}

func inSecret(change func(map[string][]byte)) func(*testing.T, *cluster) {
	return func(t *testing.T, c *cluster) {
		t.Helper()
		secret := c.secret()
		change(secret.Data)
		if err := c.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
}

func inConfiguration(change func(*admissionv1.ValidatingWebhook)) func(*testing.T, *cluster) {
	return func(t *testing.T, c *cluster) {
		t.Helper()
		configuration := c.configuration()
		for i := range configuration.Webhooks {
			change(&configuration.Webhooks[i])
		}
		if err := c.Update(t.Context(), configuration); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatIsMissingIsSaid holds the errors for what the manifests must bring.
func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*Maintainer)
		spoil  func(*admissionv1.ValidatingWebhookConfiguration)
		want   string
	}{
		{"no Secret", func(m *Maintainer) { m.Secret.Name = "other" }, nil, "reading Secret slipway-system/other"},
		{"no configuration", func(m *Maintainer) { m.Configuration = "other" }, nil, "reading ValidatingWebhookConfiguration other"},
		{"no webhooks", nil, func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks = nil }, "slipway has no webhooks"},
		{"no address", nil, func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks[0].ClientConfig.Service = nil }, "webhook pools: it has neither a service nor a URL"},
	} {
		change, spoil := row.change, row.spoil
		if change == nil {
			change = func(*Maintainer) {}
		}
		if spoil == nil {
			spoil = func(*admissionv1.ValidatingWebhookConfiguration) {}
		}
		leader := newCluster(t, spoil).replica(elected)
		change(leader)
		if err := leader.maintain(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: the error is %v, want %q", row.reason, err, row.want)
		}
	}
}

// TestReplicaServesWhenItIsElected runs a replica: it reports an error once, waits for its turn, and
// serves at once when the turn comes.
func TestReplicaServesWhenItIsElected(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	turn, lines := make(chan struct{}), make(chan string, 100)
	replica := c.replica(turn)
	replica.Log = funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
	replica.Secret.Name = "other"
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- replica.Start(ctx) }()
	for range 3 {
		c.waits()
		c.clock.Step(retry)
	}
	c.waits()
	if err := c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretKey.Namespace, Name: "other"}}); err != nil {
		t.Fatal(err)
	}
	close(turn)
	for replica.Served.current.Load() == nil {
		time.Sleep(time.Millisecond) // the certificate is made in real time
	}
	if err := c.trusts(replica, host); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(lines)
	var said []string
	for line := range lines {
		said = append(said, line)
	}
	failures := slices.DeleteFunc(slices.Clone(said), func(line string) bool { return !strings.Contains(line, "Cannot maintain") })
	if len(failures) != 1 || len(said) != 4 {
		t.Errorf("it says %q, want one failure, and the three things that were made", said)
	}
}

// waits returns when a replica waits for its clock.
func (c *cluster) waits() {
	for !c.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
}

// TestHandshake holds that a TLS server takes the certificate.
func TestHandshake(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.clock.SetTime(time.Now())
	leader := c.replica(elected)
	if err := leader.maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: leader.Served.GetCertificate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			_ = connection.(*tls.Conn).Handshake() //nolint:forcetypeassert // of a TLS listener
		}
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.configuration().Webhooks[0].ClientConfig.CABundle)
	connection, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host})
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
}
