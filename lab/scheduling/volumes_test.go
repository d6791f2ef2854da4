package scheduling

import (
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
	"github.com/slipway-project/slipway/lab/labtest"
)

// claimIn is the claim of a volume that can be used in some zones.
func claimIn(zones []string) string { return "in-" + strings.Join(zones, "-") }

// volumes hands out claims to pods. Each claim is given out once.
type volumes struct{ attached map[string]int64 } // by namespace

// with is the pod with a claim of a volume in its zones, if it has any, and claims of as many
// volumes as its node has to attach.
func (v *volumes) with(p packing.Pod) *corev1.Pod {
	var claims []string
	if p.Zones != nil {
		claims = append(claims, claimIn(p.Zones))
	}
	for range p.Volumes[packtest.Driver] {
		claims = append(claims, attachedClaim(v.attached[p.Namespace]))
		v.attached[p.Namespace]++
	}
	with := p.DeepCopy()
	for _, name := range claims {
		with.Spec.Volumes = append(with.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	return with
}

func attachedClaim(number int64) string { return fmt.Sprintf("attached-%d", number) }

// prepareVolumes creates the namespaces of pods, and in each a claim and its volume for every zone,
// and as many claims of volumes that are attached as pods may have.
func prepareVolumes(env *labtest.Env) {
	env.Helper()
	const most = packtest.MaxDeployments * packtest.MaxVolumes
	group := errgroup.Group{}
	group.SetLimit(8)
	for name, labels := range packtest.Namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if err := env.WorkloadClient.Create(env.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			env.Fatal(err)
		}
		for _, zone := range packtest.Zones {
			group.Go(func() error { return env.BindVolume(name, claimIn([]string{zone}), "not-bounded.example.com", zone) })
		}
		for number := range int64(most) {
			group.Go(func() error { return env.BindVolume(name, attachedClaim(number), packtest.Driver) })
		}
	}
	if err := group.Wait(); err != nil {
		env.Fatal(err)
	}
}
