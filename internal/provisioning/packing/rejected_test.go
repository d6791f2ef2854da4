package packing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestRejected holds by which reason each offering is counted that no node is launched of.
func TestRejected(t *testing.T) {
	t.Parallel()
	// Two types in two zones, on demand and as Spot: eight offerings.
	types := func() []packing.InstanceType {
		var all []packing.InstanceType
		for _, of := range []struct{ name, architecture, cpu string }{{"m5.large", "amd64", "2"}, {"m6g.large", "arm64", "2"}} {
			one := packing.InstanceType{Name: of.name, Architecture: of.architecture, Capacity: packtest.Amounts("cpu", of.cpu, "memory", "8Gi", "pods", "29")}
			for _, zone := range []string{"a", "b"} {
				for _, kind := range []string{"on-demand", "spot"} {
					one.Offerings = append(one.Offerings, packing.Offering{Zone: zone, CapacityType: kind, Price: 1})
				}
			}
			all = append(all, one)
		}
		return all
	}
	huge := packtest.Asks("cpu", "9")
	first := constraints.Offering{InstanceType: "m5.large", Zone: "a", CapacityType: "on-demand"}
	for _, row := range []struct {
		reason      string
		provisioner func(*packing.Provisioner)
		edit        func([]packing.InstanceType)
		pod         packing.Pod
		want        map[packing.Rejection]int
		example     map[packing.Rejection]constraints.Offering
	}{
		{reason: "a pod with a place rejects nothing", pod: packtest.Pod("a"), want: map[packing.Rejection]int{}},
		{
			reason: "no type is large enough, and the first reason counts", pod: packtest.Pod("a", huge),
			want:    map[packing.Rejection]int{packing.RejectedByArchitecture: 4, packing.RejectedByCapacityType: 2, packing.RejectedBySize: 2},
			example: map[packing.Rejection]constraints.Offering{packing.RejectedBySize: first, packing.RejectedByArchitecture: {InstanceType: "m6g.large", Zone: "a", CapacityType: "on-demand"}},
		},
		{
			reason: "the Provisioner limits the types", pod: packtest.Pod("a", huge), provisioner: func(p *packing.Provisioner) { p.InstanceTypes = []string{"m6i.large"} },
			want: map[packing.Rejection]int{packing.RejectedByArchitecture: 4, packing.RejectedByInstanceType: 4},
		},
		{
			reason: "volumes are in a zone", pod: packing.Pod{Pod: packtest.Pod("a", huge).Pod, Zones: []string{"b"}},
			want: map[packing.Rejection]int{packing.RejectedByArchitecture: 4, packing.RejectedByZone: 2, packing.RejectedByCapacityType: 1, packing.RejectedBySize: 1},
		},
		{
			reason: "AWS has none now", pod: packtest.Pod("a"),
			edit: func(all []packing.InstanceType) {
				for i := range all[0].Offerings {
					all[0].Offerings[i].Unavailable = true
				}
			},
			want: map[packing.Rejection]int{packing.RejectedByArchitecture: 4, packing.RejectedByCapacityType: 2, packing.RejectedByCapacity: 2},
		},
		{
			reason: "the limits are used up", pod: packtest.Pod("a"),
			provisioner: func(p *packing.Provisioner) { p.Limits.CPU = packtest.Quantity(1) },
			want:        map[packing.Rejection]int{packing.RejectedByArchitecture: 4, packing.RejectedByCapacityType: 2, packing.RejectedByLimits: 2},
		},
		{
			reason: "the pod does not tolerate the nodes", pod: packtest.Pod("a"),
			provisioner: func(p *packing.Provisioner) {
				p.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
			},
			want: map[packing.Rejection]int{packing.RejectedByTaints: 8},
		},
		{
			reason: "a pod may ask for another Provisioner", pod: packtest.Pod("a", packtest.Selects(provisioningv1.LabelProvisionerName, "other")), want: map[packing.Rejection]int{},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			problem := packing.Problem{Types: types(), Pods: []packing.Pod{row.pod}, Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
				if row.provisioner != nil {
					row.provisioner(p)
				}
			})}}
			if row.edit != nil {
				row.edit(problem.Types)
			}
			got := map[packing.Rejection]int{}
			for _, one := range packing.Pack(&problem).Rejected {
				got[one.Reason] = one.Offerings
				if want, some := row.example[one.Reason]; some && one.Example != want || one.Pod.Name != "a" {
					t.Errorf("the example of %s is %v for pod %s, want %v", one.Reason, one.Example, one.Pod.Name, want)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRejectedIsBounded holds that a summary has one line for each Provisioner and reason, that no line counts more
// than there is, and that there is none without a pod that waits.
func TestRejectedIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		problem := packtest.Problems(rt)
		offerings := 0
		for i := range problem.Types {
			offerings += len(problem.Types[i].Offerings)
		}
		result := packing.Pack(problem)
		seen := map[string]bool{}
		for _, one := range result.Rejected {
			key := one.Provisioner + " " + string(one.Reason)
			if seen[key] || one.Offerings < 1 || one.Offerings > offerings {
				rt.Fatalf("%s: %d of %d offerings", key, one.Offerings, offerings)
			}
			seen[key] = true
		}
		if len(result.Unplaced) == 0 && len(result.Rejected) > 0 {
			rt.Fatalf("all pods have places, and %d reasons are given", len(result.Rejected))
		}
	})
}
