package v1beta2_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestColumns holds what kubectl get shows, wide columns in brackets: a path that finds nothing
// shows an empty column and no error.
func TestColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, base, patch string
		want              []string
	}{
		{
			kind: "AWSMachinePool", base: machinePoolBase,
			patch: `{metadata: {labels: {cluster.x-k8s.io/cluster-name: one}, creationTimestamp: "2026-01-01T00:00:00Z"},
				status: {replicas: 2, upToDateReplicas: 1, launchTemplateID: lt-1, launchTemplateVersion: "4",
				rollout: {refreshID: r, status: InProgress, percentageComplete: 50, cause: image ami-1 → ami-2},
				instanceTypes: "t3.large, m6i.large",
				conditions: [{type: Ready, status: "True", reason: Ready, message: fine}, {type: Converged, status: "False", reason: RollingOut, message: rolling out},
				{type: RolledOut, status: "False", reason: RollingOut, message: m}]}}`,
			want: []string{
				"Name=pool", "Cluster=one", "Ready=True", "Status=RollingOut", "Replicas=2", "UpToDate=1", "MinSize=1", "MaxSize=3",
				"LaunchTemplate ID=lt-1", "Version=4", "Rollout=RollingOut", "[Refresh=InProgress]", "[Done%=50]",
				"[Cause=image ami-1 → ami-2]", "[Instance Type=t3.large, m6i.large]", "[Message=rolling out]", "Age",
			},
		},
		{
			kind: "AWSManagedMachinePool", base: managedPoolBase,
			patch: `{metadata: {labels: {cluster.x-k8s.io/cluster-name: one}, creationTimestamp: "2026-01-01T00:00:00Z"},
				status: {replicas: 2, upToDateReplicas: 1, launchTemplateID: lt-1, launchTemplateVersion: "4",
				nodegroup: {name: default_pool, status: UPDATING, releaseVersion: 1.34.1-20251103},
				update: {id: u, status: InProgress, cause: image ami-1 → ami-2},
				instanceTypes: m5.large,
				conditions: [{type: Ready, status: "True", reason: Ready, message: fine}, {type: Converged, status: "False", reason: RollingOut, message: rolling out},
				{type: RolledOut, status: "False", reason: RollingOut, message: m}]}}`,
			want: []string{
				"Name=pool", "Cluster=one", "Ready=True", "Status=RollingOut", "Replicas=2", "UpToDate=1", "MinSize=1", "MaxSize=3", "Nodegroup=UPDATING",
				"LaunchTemplate ID=lt-1", "Version=4", "Release=1.34.1-20251103", "Rollout=RollingOut", "[Update=InProgress]",
				"[Cause=image ami-1 → ami-2]", "[Instance Type=m5.large]", "[Nodegroup Name=default_pool]", "[Message=rolling out]", "Age",
			},
		},
		{
			kind: "AWSLaunchConfig", base: launchConfigBase,
			patch: `{metadata: {creationTimestamp: "2026-01-01T00:00:00Z", annotations: {slipway.infrastructure.cluster.x-k8s.io/launch-config-template: shared/nodes}},
				spec: {kubernetesVersion: v1.34.2}, status: {users: "a, b", pendingVersion: 5, launchTemplateID: lt-1, launchTemplateName: nodes, version: 4, defaultVersion: 3,
				launchedImageID: ami-1, launchedInstanceType: m5.large, conditions: [{type: Ready, status: "True", reason: Ready, message: fine}]}}`,
			want: []string{
				"Name=config", "Cluster=one", "Ready=True", "Template=lt-1", "Version=4", "Default=3", "Image=ami-1",
				"Instance Type=m5.large", "Used By=a, b", "[Pending=5]", "[Made From=shared/nodes]", "[Template Name=nodes]", "[Kubernetes=v1.34.2]", "[Message=fine]", "Age",
			},
		},
		{
			kind: "AWSLaunchConfigTemplate", base: launchConfigTemplateBase,
			patch: `{metadata: {creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {template: {spec: {ami: {id: ami-0123456789abcdef0}}}},
				status: {launchConfigs: 3, upToDateLaunchConfigs: 2}}`,
			want: []string{"Name=nodes", "Instance Type=m5.large", "Image=ami-0123456789abcdef0", "Used By=3", "UpToDate=2", "Age"},
		},
		{
			kind: "AWSMachinePoolMachine", base: machinePoolMachineBase,
			patch: `{metadata: {creationTimestamp: "2026-01-01T00:00:00Z", labels: {cluster.x-k8s.io/cluster-name: one,
				cluster.x-k8s.io/pool-name: workers}}, status: {instance: {instanceID: i-1, lifecycleState: InService,
				launchTemplateVersion: "4"}}}`,
			want: []string{"Name=machine", "Cluster=one", "Pool=workers", "Instance=i-1", "State=InService", "Version=4", "Age"},
		},
	} {
		for _, version := range definitions(t)[c.kind].Spec.Versions {
			convertor, err := tableconvertor.New(version.AdditionalPrinterColumns)
			if err != nil {
				t.Fatal(err)
			}
			shown := &unstructured.Unstructured{Object: object(t, c.base, c.patch)}
			table, err := convertor.ConvertToTable(t.Context(), shown, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, column := range table.ColumnDefinitions {
				cell := fmt.Sprintf("%s=%v", column.Name, table.Rows[0].Cells[i])
				if column.Name == "Age" && !strings.HasSuffix(cell, "=<unknown>") && !strings.HasSuffix(cell, "=") {
					cell = "Age" // its value depends on the day
				}
				if column.Priority > 0 {
					cell = "[" + cell + "]"
				}
				got = append(got, cell)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", c.kind, version.Name, diff)
			}
		}
	}
}
