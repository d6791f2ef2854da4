package crashsweep

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

var storageScenarios = []scenario{
	{
		name:    "create with an object",
		prepare: func(*harness) {},
		act:     func(h *harness) { createPoolStoredIn(h, infrav1.BootstrapStorageS3) },
		done:    func(h *harness) error { return h.ready(2) },
	},
	{
		name:    "token rotation with an object",
		prepare: havePoolStoredInS3,
		act:     func(h *harness) { h.putBootstrapData(1) },
		done: func(h *harness) error {
			if _, secret := h.token(1); !strings.Contains(h.objects(), secret) {
				return errors.New("the object does not hold the new token")
			}
			return h.ready(2)
		},
	},
	{
		name:    "delete with an object",
		prepare: havePoolStoredInS3,
		act:     deletePool,
		done:    gone,
		rate:    unhurried,
	},
	{
		name:    "release",
		prepare: havePool,
		act: func(h *harness) {
			h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
				metav1.SetMetaDataAnnotation(&pool.ObjectMeta, infrav1.ReleaseAnnotation, "true")
			})
		},
		done: released,
	},
}

func havePoolStoredInS3(h *harness) {
	createPoolStoredIn(h, infrav1.BootstrapStorageS3)
	h.env.Eventually("the pool is ready", func() error { return h.ready(2) })
}

// createPoolStoredIn keeps the bootstrap data outside of the launch template.
func createPoolStoredIn(h *harness, storage infrav1.BootstrapStorage) {
	h.putBootstrapData(0)
	h.env.ApplyFile("testdata/pool.yaml", "  awsLaunchTemplate:\n", "  bootstrapStorage: "+string(storage)+"\n  awsLaunchTemplate:\n"+
		"    iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n")
}

// objects is all that is kept in the bucket.
func (h *harness) objects() string {
	h.Helper()
	var text strings.Builder
	for name := range h.env.State()["s3"].(map[string]any)["objects"].(map[string]any) {
		content, err := h.env.Cloud.AWS.Region(h.env.Account, h.env.Cloud.Region()).Object(bucket, strings.TrimPrefix(name, bucket+"/"))
		if err != nil {
			h.Fatal(err)
		}
		text.WriteString(content)
	}
	return text.String()
}

// released returns nil for a pool that Slipway no longer manages.
func released(h *harness) error {
	pool, err := h.pool()
	if err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.ReleasedCondition) {
		return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
	}
	if configs := h.world().Configs; len(configs) > 0 {
		return fmt.Errorf("launch configs are %q", configs)
	}
	return nil
}
