package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestLaboratory runs a whole laboratory with two API servers, a manager, and clusters of both
// kinds, and checks what is left of it.
func TestLaboratory(t *testing.T) {
	started := make(chan ManagerEnv, 1)
	begin := time.Now()
	l, err := Start(t.Context(), Options{
		SeparateWorkload: true,
		Manager: func(ctx context.Context, env ManagerEnv) error {
			started <- env
			<-ctx.Done()
			return context.Cause(ctx)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %v", time.Since(begin).Round(time.Millisecond))
	closed := false
	t.Cleanup(func() {
		if !closed {
			_ = l.Close() // the test has failed already
		}
	})
	if env := <-started; env.Endpoint != l.Cloud.Endpoint || env.RESTConfig.Host != l.RESTConfig().Host || env.AWSConfig().Region != "us-east-1" {
		t.Errorf("the manager runs in the surroundings %+v", env)
	}
	for _, managed := range []bool{false, true} {
		options := ClusterOptions{Namespace: fmt.Sprintf("managed-%v", managed), Managed: managed}
		if _, err := l.NewCluster(t.Context(), options); err != nil {
			t.Error(err)
		}
	}
	tryKinds(t, l)
	tryApart(t, l)

	dir := l.Dir()
	begin = time.Now()
	closed = true
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("closed after %v", time.Since(begin).Round(time.Millisecond))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory %s was left: %v", dir, err)
	}
	if descriptors := openIn(t, dir); len(descriptors) != 0 {
		t.Errorf("files were left open: %v", descriptors)
	}
	noGoroutines(t)
}

// tryKinds looks for every kind that a pool needs, in the versions that manifests use.
func tryKinds(t *testing.T, l *Lab) {
	t.Helper()
	mapper := l.Client().RESTMapper()
	for _, kind := range []schema.GroupVersionKind{
		{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "MachinePool"},
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta1", Kind: "KubeadmConfig"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "AWSMachinePool"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachinePool"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSLaunchConfig"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachinePoolMachine"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSClusterRoleIdentity"},
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSManagedControlPlane"},
	} {
		if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			t.Error(err)
		}
	}
}

// tryApart makes sure that the API servers are separate.
func tryApart(t *testing.T, l *Lab) {
	t.Helper()
	if l.RESTConfig().Host == l.Workload.RESTConfig().Host {
		t.Fatal("there is one API server, not two")
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "of-workload"}}
	if err := l.WorkloadClient().Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := l.Client().Get(t.Context(), client.ObjectKeyFromObject(node), node); !apierrors.IsNotFound(err) {
		t.Errorf("a Node of the workload cluster is seen in the management cluster: %v", err)
	}
	var clusters clusterv1.ClusterList
	if err := l.WorkloadClient().List(t.Context(), &clusters); err == nil {
		t.Errorf("the workload cluster has %d Clusters", len(clusters.Items))
	}
}

// openIn lists this process's open files below a directory.
func openIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, dir) {
			found = append(found, target)
		}
	}
	return found
}

// noGoroutines waits until nothing serves, watches, or reconciles.
func noGoroutines(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		var profile strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
		left := ""
		for stack := range strings.SplitSeq(profile.String(), "\n\n") {
			for _, working := range []string{
				"net/http.(*Server).Serve", "(*Reflector).ListAndWatch", "internal/controller.(*Controller", "lab/nodes.", "simclock.",
			} {
				if strings.Contains(stack, working) {
					left = stack
				}
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a goroutine was left:\n%s", left)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
