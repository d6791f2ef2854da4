package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ownerOf returns a MachinePool that refers to an object.
func ownerOf(name, group, kind, pool string) *clusterv1.MachinePool {
	owner := &clusterv1.MachinePool{ObjectMeta: in(name)}
	owner.UID = "other"
	owner.Spec.ClusterName = "prod"
	owner.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: pool}
	return owner
}

// TestMachinePoolNamed holds that the name of a MachinePool leads to its pool, and that a name that leads nowhere has an
// error that helps.
func TestMachinePoolNamed(t *testing.T) {
	t.Parallel()
	green := &infrav1.AWSMachinePool{}
	green.Namespace, green.Name = "green", "batch"
	red := &clusterv1.Cluster{}
	red.Namespace, red.Name = "red", "staging"
	labeled := &infrav1.AWSMachinePool{ObjectMeta: in("labeled")}
	labeled.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod"}
	shared := &infrav1.AWSLaunchConfig{ObjectMeta: in("shared")}
	shared.Status.UsedBy = []infrav1.LaunchConfigUser{{Kind: "AWSMachinePool", Name: "workers"}, {Kind: "AWSMachinePool", Name: "batch"}}
	w := newReadWorld(t, shared, green, red, labeled,
		ownerOf("nodes", infrav1.GroupVersion.Group, "AWSMachinePool", "workers"), ownerOf("lost", infrav1.GroupVersion.Group, "AWSManagedMachinePool", "gone"),
		ownerOf("blob", infrav1.GroupVersion.Group, "AzureMachinePool", "blob"), ownerOf("labels", infrav1.GroupVersion.Group, "AWSMachinePool", "labeled"),
	)
	for line, want := range map[string]string{
		"status nodes": "AWSMachinePool blue/workers", "status machinepool/nodes": "AWSMachinePool blue/workers", "explain nodes": "AWSMachinePool blue/workers",
		"explain machinepool/nodes": "AWSMachinePool blue/workers", "explain pool/nodes": "AWSMachinePool blue/workers",
		"status awsmachinepool.infrastructure.cluster.x-k8s.io/workers": "AWSMachinePool blue/workers", "status machinepools.cluster.x-k8s.io/nodes": "AWSMachinePool blue/workers",
		"status pool/nodes": "AWSMachinePool blue/workers", "tree cluster/prod": "Cluster blue/prod", "tree cluster.cluster.x-k8s.io/prod": "Cluster blue/prod",
		"history nodes": "instance type m5.large → m5.xlarge", "diff nodes 1 2": "instance type m5.large → m5.xlarge", "events nodes": "InstanceRefreshStarted",
	} {
		if out, _, err := w.run(t.Context(), strings.Fields(line)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("slipway %s: got error %v and\n%s\nwant %q", line, err, out, want)
		}
	}
	for line, want := range map[string]string{
		"status lost":                        `AWSManagedMachinePool "gone", which MachinePool "lost" refers to, does not exist`,
		"status blob":                        `MachinePool "blob" refers to AzureMachinePool "blob", which is not a pool of Slipway`,
		"explain blob":                       `which is not a pool of Slipway`,
		"status batch":                       `namespace blue has no AWSMachinePool, AWSManagedMachinePool, or MachinePool "batch". Namespace green has it: use -n green`,
		"history machinepool/none":           `namespace blue has no MachinePool "none"`,
		"explain batch":                      `has the name. Namespace green has it: use -n green`,
		"explain awsmachinepool/batch":       `namespace blue has no AWSMachinePool "batch". Namespace green has it: use -n green`,
		"tree labels":                        `namespace blue has no Cluster "labels". AWSMachinePool labeled belongs to Cluster prod: use slipway tree prod`,
		"status shared":                      `has no AWSMachinePool, AWSManagedMachinePool, or MachinePool "shared". AWSLaunchConfig shared is used by AWSMachinePool workers, AWSMachinePool batch: name a pool`,
		"status awsmachinepool.apps/workers": `"awsmachinepool.apps" is no kind of pools`,
		"tree cluster/none":                  `namespace blue has no Cluster "none"`,
		"tree a/b":                           `namespace blue has no Cluster "a/b"`,
		"trace i-0":                          "Use -A to search all namespaces",
		"tree staging":                       `namespace blue has no Cluster "staging". Namespace red has it: use -n red`,
	} {
		if _, _, err := w.run(t.Context(), strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("slipway %s: got error %v, want %q", line, err, want)
		}
	}
	for name, want := range map[string]string{"nodes": "AWSMachinePool", "machinepool/nodes": "MachinePool"} {
		if object, err := w.source.subject(t.Context(), name); err != nil || object.GetKind() != want {
			t.Errorf("the subject of a plan of %s: got %v and error %v, want kind %s", name, object, err, want)
		}
	}
	command := newUndoCommand()
	command.SetContext(t.Context())
	if err := (&controlFlags{}).runOn(command, control{}, w.source.planCluster, "batch"); err == nil || !strings.HasSuffix(err.Error(), `, or AWSLaunchConfig "batch". Namespace green has it: use -n green`) {
		t.Errorf("slipway undo batch: got error %v", err)
	}
	if got, want := elsewhereText([]string{"a", "b", "c", "d", "e"}), ". Namespaces a, b, c, and 2 more have it: choose one with -n"; got != want {
		t.Errorf("many namespaces: got %q, want %q", got, want)
	}
	if got, want := elsewhereText([]string{"a", "b"}), ". Namespaces a, b have it: choose one with -n"; got != want {
		t.Errorf("two namespaces: got %q, want %q", got, want)
	}
}

// TestMachinePoolUnreadable holds that a user who may not read MachinePools learns that there is no pool of a name.
func TestMachinePoolUnreadable(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	w.source.Client = interceptor.NewClient(w.client, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if _, is := object.(*clusterv1.MachinePool); is {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "machinepools"}, name.Name, errors.New("no rights"))
		}
		return c.Get(ctx, name, object, options...)
	}})
	for name, want := range map[string]string{"none": `namespace blue has no AWSMachinePool or AWSManagedMachinePool "none"`, "machinepool/none": `reading MachinePool "none"`} {
		if _, _, err := w.run(t.Context(), "status", name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("slipway status %s: got error %v, want %q", name, err, want)
		}
	}
}

// TestUnreadableNodesOnce holds that the pools of a cluster whose nodes cannot be read have one message.
func TestUnreadableNodesOnce(t *testing.T) {
	t.Parallel()
	second := &infrav1.AWSMachinePool{ObjectMeta: in("second")}
	second.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "workers", UID: "machine-pool"}}
	w := newReadWorld(t, second)
	w.workload = nil
	for _, command := range []string{"trace", "explain"} {
		_, _, err := w.run(t.Context(), command, "i-0123456789abcdef0")
		if err == nil || strings.Count(err.Error(), "API server does not respond") != 1 {
			t.Errorf("slipway %s: got error %v, want the reason once", command, err)
		}
	}
}
