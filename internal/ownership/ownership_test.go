package ownership_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/ownership"
)

func pool(annotations map[string]string) *infrav1.AWSMachinePool {
	return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool", Annotations: annotations}}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for _, row := range []struct {
		reason, wanted string
		want           int
	}{
		{"the wanted name comes first", "pool", 2},
		{"the shortest", "abc", 2},
		{"too short", "ab", 1},
		{"the longest", long[:128], 2},
		{"too long", long[:129], 1},
		{"long enough that the hash takes its place", long[:120], 2},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			names := ownership.Names(row.wanted, "one", pool(nil), 3, 128)
			if len(names) != row.want || row.want == 2 && names[0] != row.wanted {
				t.Fatalf("names %q", names)
			}
			for _, name := range names {
				if len(name) < 3 || len(name) > 128 {
					t.Errorf("%d characters: %s", len(name), name)
				}
			}
			hashed := names[len(names)-1]
			if again := ownership.Names(row.wanted, "one", pool(nil), 3, 128); !slices.Equal(again, names) {
				t.Errorf("names change: %q, %q", names, again)
			}
			namesake := pool(nil)
			namesake.Namespace = "other"
			for who, other := range map[string][]string{
				"a pool of another cluster":       ownership.Names(row.wanted, "two", pool(nil), 3, 128),
				"a namesake in another namespace": ownership.Names(row.wanted, "one", namesake, 3, 128),
			} {
				if other[len(other)-1] == hashed {
					t.Errorf("%s has the same name %s", who, hashed)
				}
			}
		})
	}
}

func TestRegionAndOwner(t *testing.T) {
	t.Parallel()
	object := pool(nil)
	tenant := aws.Identity{Kind: aws.IdentityRole, Name: "tenant"}
	if _, recorded := ownership.RecordedIdentity(object); recorded {
		t.Error("an identity counts as recorded without a record")
	}
	ownership.SetLocation(object, ownership.Location{Region: "us-east-1", Cluster: "one", Account: "111122223333", Identity: tenant})
	if identity, recorded := ownership.RecordedIdentity(object); !recorded || identity != tenant {
		t.Errorf("identity %v", identity)
	}
	ownership.SetLocation(object, ownership.Location{Region: "eu-west-1", Cluster: "capa"})
	if identity, recorded := ownership.RecordedIdentity(object); !recorded || identity != (aws.Identity{}) {
		t.Errorf("the controller's own identity reads %v", identity)
	}
	if account := object.Annotations[ownership.AccountAnnotation]; account != "111122223333" {
		t.Errorf("the account is forgotten: %q", account)
	}
	if region := object.Annotations[ownership.RegionAnnotation]; region != "eu-west-1" {
		t.Errorf("region %q", region)
	}
	if name := object.Annotations[ownership.ClusterAnnotation]; name != "capa" {
		t.Errorf("cluster %q", name)
	}
	if owner := ownership.Owner(object, "capa"); owner != "default/capa/pool" {
		t.Errorf("owner %q", owner)
	}
}
