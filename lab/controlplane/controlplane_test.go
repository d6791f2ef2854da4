package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
)

func TestMain(m *testing.M) {
	LogTo(nil)
	os.Exit(m.Run())
}

// eventually polls until f succeeds, or fails the test after the deadline.
func eventually(t *testing.T, deadline time.Duration, reason string, f func() error) {
	t.Helper()
	end := time.Now().Add(deadline)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", reason, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestTwoControlPlanesStartWorkAndLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	planes := make([]*ControlPlane, 2)
	failures := make([]error, 2)
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range planes {
		wg.Go(func() {
			planes[i], failures[i] = Start(t.Context(), Options{Name: fmt.Sprintf("plane-%d", i), Dir: dir})
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	t.Logf("two control planes were ready after %v", time.Since(begin).Round(time.Millisecond))
	for _, plane := range planes {
		t.Run(plane.name, func(t *testing.T) { tryControlPlane(t, plane) })
	}
	openWatch(t, planes[0]) // an unclosed client must not delay the stop

	addresses := make([]string, 0, len(planes))
	for _, plane := range planes {
		host, port := plane.Address()
		addresses = append(addresses, net.JoinHostPort(host, strconv.Itoa(int(port))), plane.etcd.server.Clients[0].Addr().String())
	}
	begin = time.Now()
	for i, plane := range planes {
		wg.Go(func() { failures[i] = plane.Stop() })
	}
	wg.Wait()
	t.Logf("they had stopped after %v", time.Since(begin).Round(time.Millisecond))
	if err := errors.Join(failures...); err != nil {
		t.Error(err)
	}
	for _, address := range addresses {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			t.Errorf("something still listens on %s", address)
			_ = conn.Close()
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		t.Errorf("file %s was left", filepath.Join(dir, file.Name()))
	}
	eventually(t, 10*time.Second, "goroutines were left", noServerGoroutines)
}

// noServerGoroutines fails for goroutines that serve, watch, or store: they would keep a port, a
// file, or a connection.
func noServerGoroutines() error {
	var profile strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err
	}
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		for _, serving := range []string{
			"net/http.(*Server).Serve", "etcdserver.(*EtcdServer).run", "bbolt.", "cacher.(*Cacher)", "garbagecollector.", "(*Reflector).ListAndWatch",
		} {
			if strings.Contains(stack, serving) {
				return fmt.Errorf("%d goroutines in all, one of them:\n%s", runtime.NumGoroutine(), stack)
			}
		}
	}
	return nil
}

func openWatch(t *testing.T, plane *ControlPlane) {
	t.Helper()
	watch, err := client(t, plane).CoreV1().ConfigMaps("").Watch(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
}

func client(t *testing.T, plane *ControlPlane) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func tryControlPlane(t *testing.T, plane *ControlPlane) {
	clients := client(t, plane)
	info, err := clients.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err := version.ParseSemantic(info.GitVersion); err != nil || parsed.LessThan(version.MustParse("v1.36.0")) {
		t.Errorf("clients cannot tell the server's version from %q: %v", info.GitVersion, err)
	}
	_, err = clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := clients.CoreV1().ConfigMaps("mine").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients.CoreV1().ConfigMaps("mine").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.CoreV1().ConfigMaps("mine").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, "what a deleted object owned is collected", func() error {
		_, err := clients.CoreV1().ConfigMaps("mine").Get(t.Context(), "owned", metav1.GetOptions{})
		return wantNotFound(err)
	})
	tryServiceAccount(t, plane)
	if err := clients.CoreV1().Namespaces().Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, "a deleted namespace goes", func() error {
		_, err := clients.CoreV1().Namespaces().Get(t.Context(), "mine", metav1.GetOptions{})
		return wantNotFound(err)
	})
}

func tryServiceAccount(t *testing.T, plane *ControlPlane) {
	config, err := plane.ServiceAccountConfig(t.Context(), "mine", "unprivileged")
	if err != nil {
		t.Fatal(err)
	}
	unprivileged, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unprivileged.CoreV1().Secrets("mine").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a service account without any role listed secrets: %v", err)
	}
	if _, err := unprivileged.Discovery().ServerVersion(); err != nil {
		t.Errorf("the service account's token is not accepted: %v", err)
	}
}

func wantNotFound(err error) error {
	if err == nil {
		return errors.New("it is still there")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func TestVersionIsTheModules(t *testing.T) {
	content, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "k8s.io/kubernetes " + KubernetesVersion + "\n"; !strings.Contains(string(content), want) {
		t.Errorf("go.mod does not require %q", want)
	}
}
