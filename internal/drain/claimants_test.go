package drain

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// forged returns Nodes that name the instance of node, and that a list has before it.
func forged(count int) []runtime.Object {
	var made []runtime.Object
	for i := range count {
		other := node("True")
		other.Name = fmt.Sprintf("a-forged-%03d", i)
		made = append(made, other)
	}
	return made
}

// TestNodesThatClaimAnInstance holds that the pods of an instance's own Node leave before the instance counts as
// empty, however many other Nodes name the instance too and come before it, and that its own Node is drained
// in the first look if EC2's name is known. No look drains many Nodes.
func TestNodesThatClaimAnInstance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		forged    int
		likeliest string
		// looks is how many there are until the instance is empty.
		looks int
	}{
		{forged: 0, looks: 2},
		{forged: 1, looks: 2},
		{forged: 15, looks: 2},
		{forged: 16, looks: 3},
		{forged: 16, likeliest: nodeName, looks: 2},
		{forged: 200, looks: 27},
		{forged: 200, likeliest: nodeName, looks: 14},
		{forged: 200, likeliest: "no-such-node", looks: 27},
	} {
		t.Run(fmt.Sprintf("%d others, likeliest %q", row.forged, row.likeliest), func(t *testing.T) {
			t.Parallel()
			server := cluster(nil, append(forged(row.forged), node("True"), pod("web"))...)
			api := byNode{Clientset(server)}
			found, err := Find(t.Context(), api, []string{providerID})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(found[providerID]) // as an API server lists them
			claimants := ClaimantsOf(found[providerID], row.likeliest)
			for look := 1; ; look++ {
				server.ClearActions()
				progress, err := claimants.Look(t.Context(), api, providerID)
				if err != nil {
					t.Fatal(err)
				}
				pods, err := server.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if row.likeliest == nodeName && len(pods.Items) > 0 {
					t.Errorf("look %d: its own Node was not drained", look)
				}
				if progress.Empty && len(pods.Items) > 0 {
					t.Fatalf("look %d: the instance counts as empty, and its Node has pods", look)
				}
				if calls := len(server.Actions()); calls > 4*nodesPerLook {
					t.Errorf("look %d made %d calls", look, calls)
				}
				if !progress.Empty && progress.String() == "no pods left" {
					t.Errorf("look %d does not say what the instance waits for: %+v", look, progress)
				}
				if progress.Empty {
					if look != row.looks {
						t.Errorf("it took %d looks, want %d", look, row.looks)
					}
					return
				}
				if look > 100 {
					t.Fatalf("the instance never counts as empty: %+v", progress)
				}
			}
		})
	}
}

// TestClaimantsThatAreGone holds that Nodes that were deleted keep no instance, and that a Node that cannot be read does.
func TestClaimantsThatAreGone(t *testing.T) {
	t.Parallel()
	api := Clientset(cluster(nil, node("True"), pod("web")))
	claimants := ClaimantsOf([]string{"a-gone", nodeName}, "")
	progress, err := claimants.Look(t.Context(), api, providerID)
	if err != nil || progress.Empty || progress.Ending != 1 {
		t.Errorf("the first look: %+v, error %v", progress, err)
	}
	if progress, err = claimants.Look(t.Context(), api, providerID); err != nil || !progress.Empty || progress.Gone {
		t.Errorf("the second look: %+v, error %v", progress, err)
	}
	broken := ClaimantsOf([]string{"a-gone", nodeName}, "")
	if progress, err = broken.Look(t.Context(), unreadable{api}, providerID); err == nil || progress.Empty {
		t.Errorf("with a Node that cannot be read: %+v, error %v", progress, err)
	}
	if names := ClaimantsOf([]string{"c", "a", "b"}, "b"); !slices.Equal(names.Names(), []string{"b", "c", "a"}) {
		t.Errorf("the order is %q", names.Names())
	}
}

// unreadable is an API server that does not answer about one Node.
type unreadable struct{ API }

// Node implements API.
func (u unreadable) Node(ctx context.Context, name string) (*corev1.Node, error) {
	if name == nodeName {
		return nil, apierrors.NewServiceUnavailable("later")
	}
	return u.API.Node(ctx, name)
}

// byNode has the pods of each Node listed, which the fake API server does not select.
type byNode struct{ API }

// Pods implements API.
func (b byNode) Pods(ctx context.Context, node string) ([]corev1.Pod, error) {
	pods, err := b.API.Pods(ctx, node)
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName != node }), err
}
