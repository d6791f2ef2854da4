package discovery

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
)

const account = "123456789012"

// notFound reports whether an error says that AWS has nothing that fits, and names it.
func notFound(err error, names string) bool {
	var none *NotFoundError
	return errors.As(err, &none) && strings.Contains(err.Error(), names) && none.WaitsForUser()
}

// template creates a launch template with an instance type for each of its versions.
func (p *place) template(t *testing.T, name string, instanceTypes ...string) string {
	t.Helper()
	id := ""
	for _, instanceType := range instanceTypes {
		data := &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceType(instanceType)}
		if id == "" {
			out, err := p.clients.EC2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data})
			if err != nil {
				t.Fatal(err)
			}
			id = *out.LaunchTemplate.LaunchTemplateId
			continue
		}
		if _, err := p.clients.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: data}); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// TestLaunchTemplates holds that templates and versions are described once, that what does not exist
// is named, and that one which EC2 says is gone is described again.
func TestLaunchTemplates(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	id := p.template(t, "web", "m5.large", "m6i.large")
	for range 2 {
		byID, err := p.LaunchTemplate(t.Context(), id, "")
		byName, errOfName := p.LaunchTemplate(t.Context(), "", "web")
		if err != nil || errOfName != nil || byID.ID != id || byName.ID != id {
			t.Fatalf("by id %+v, %v; by name %+v, %v", byID, err, byName, errOfName)
		}
		data, err := p.TemplateVersion(t.Context(), id, 2)
		if err != nil || data.TemplateID() != id {
			t.Fatalf("version 2 is of %s, %v", data.TemplateID(), err)
		}
		changes, err := p.TemplateChanges(t.Context(), id, 1, 2)
		if diff := cmp.Diff([]string{"instance type m5.large → m6i.large"}, changes); err != nil || diff != "" {
			t.Errorf("changes, %v (-want +got):\n%s", err, diff)
		}
	}
	if asked := p.asked("DescribeLaunchTemplates"); asked != 2 {
		t.Errorf("the template was described %d times, once by id and once by name is enough", asked)
	}
	if _, err := p.LaunchTemplate(t.Context(), "", "gone"); !notFound(err, "gone") {
		t.Errorf("a template that does not exist: %v", err)
	}
	if _, err := p.TemplateVersion(t.Context(), id, 7); !notFound(err, id+", version 7") {
		t.Errorf("a version that does not exist: %v", err)
	}
	p.KnowTemplateChanges(t.Context(), id, 2, 3, []string{"told"})
	if changes, err := p.TemplateChanges(t.Context(), id, 2, 3); err != nil || !slices.Equal(changes, []string{"told"}) {
		t.Errorf("changes that are known are %q, %v", changes, err)
	}

	if _, err := p.clients.EC2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
		t.Fatal(err)
	}
	p.ForgetLaunchTemplate("lt-0123456789abcdef0")
	if _, err := p.LaunchTemplate(t.Context(), id, ""); err != nil {
		t.Errorf("forgetting another template forgot this one: %v", err)
	}
	p.ForgetLaunchTemplate(id)
	if _, err := p.LaunchTemplate(t.Context(), id, ""); !notFound(err, id) {
		t.Errorf("after it was forgotten: %v", err)
	}
	if _, err := p.LaunchTemplate(t.Context(), "", "web"); !notFound(err, "web") {
		t.Errorf("after it was forgotten, by its name: %v", err)
	}
	if _, err := p.TemplateVersion(t.Context(), id, 2); !notFound(err, id) {
		t.Errorf("its version, after it was forgotten: %v", err)
	}
}

// TestEKSCluster holds which facts about its cluster a node receives, and that a cluster that is
// not active yet is waited for: nothing about it is remembered.
func TestEKSCluster(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	if _, err := p.EKSCluster(t.Context(), "blue"); !notFound(err, "blue") {
		t.Errorf("a cluster that does not exist: %v", err)
	}
	if err := p.sim.Region(account, region).SetCluster(awssim.Cluster{Name: "blue", Version: "1.34", Subnets: []string{"subnet-0b2000000000000aa"}}); err != nil {
		t.Fatal(err)
	}
	p.clock.Step(time.Hour) // errors are not remembered for as long
	found, err := p.EKSCluster(t.Context(), "blue")
	if err != nil || found.Name != "blue" || found.Endpoint == "" || found.CertificateAuthority == "" || found.ServiceCIDR == "" {
		t.Errorf("the cluster is %+v, %v", found, err)
	}
	denied := newPlace(t, nil)
	if _, err := denied.sim.AddFault(awssim.Fault{Action: "DescribeCluster", Code: "AccessDeniedException", Status: 403, Message: "denied"}); err != nil {
		t.Fatal(err)
	}
	if _, err := denied.EKSCluster(t.Context(), "blue"); notFound(err, "") || !aws.IsAccessDenied(err) {
		t.Errorf("a cluster that may not be described: %v", err)
	}
}

// TestCapacityReservation holds until when a reservation lasts, and that one of another account that
// is not shared is named.
func TestCapacityReservation(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	if _, err := p.CapacityReservation(t.Context(), "cr-0123456789abcdef0"); !notFound(err, "cr-0123456789abcdef0") {
		t.Errorf("a reservation that does not exist: %v", err)
	}
	end := p.clock.Now().Add(24 * time.Hour)
	for _, reservation := range []awssim.CapacityReservation{
		{ID: "cr-00000000000000001", InstanceType: "m5.large", Zone: "us-east-1a", Count: 1},
		{ID: "cr-00000000000000002", InstanceType: "m5.large", Zone: "us-east-1a", Count: 1, End: end},
	} {
		if err := p.sim.Region(account, region).SetCapacityReservation(reservation); err != nil {
			t.Fatal(err)
		}
		found, err := p.CapacityReservation(t.Context(), reservation.ID)
		if err != nil || !found.End.Equal(reservation.End) {
			t.Errorf("reservation %s ends at %s, %v, want %s", reservation.ID, found.End, err, reservation.End)
		}
	}
}

// TestRegionsCatalog holds that the types, their zones and their prices agree with one another, and are
// read once.
func TestRegionsCatalog(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	read := func() ([]InstanceType, map[string][]string, map[Pool]float64) {
		types, err := p.InstanceTypes(t.Context())
		offerings, errOfOfferings := p.TypeOfferings(t.Context())
		prices, errOfPrices := p.SpotPrices(t.Context())
		if err := errors.Join(err, errOfOfferings, errOfPrices); err != nil {
			t.Fatal(err)
		}
		return types, offerings, prices
	}
	types, offerings, prices := read()
	names := map[string]bool{}
	for _, one := range types {
		if names[one.Name] {
			t.Errorf("%s is listed twice", one.Name)
		}
		names[one.Name] = true
	}
	if len(types) == 0 || len(offerings) == 0 || len(prices) == 0 {
		t.Fatalf("there are %d types, %d that are offered, and %d prices", len(types), len(offerings), len(prices))
	}
	for name, zones := range offerings {
		if !names[name] || !slices.IsSorted(zones) || len(slices.Compact(slices.Clone(zones))) != len(zones) {
			t.Errorf("%s, known %t, is offered in %q", name, names[name], zones)
		}
	}
	for pool, price := range prices {
		if price <= 0 || !slices.Contains(offerings[pool.InstanceType], pool.Zone) {
			t.Errorf("%s costs %f in zone %s, and is offered in %q", pool.InstanceType, price, pool.Zone, offerings[pool.InstanceType])
		}
	}
	calls := len(p.sim.Calls())
	read()
	if again := len(p.sim.Calls()); again != calls {
		t.Errorf("reading it again took %d calls", again-calls)
	}
}

// TestForgottenSubnetsAndGroups holds that what AWS says is gone is asked for again, and that what
// is missing is named.
func TestForgottenSubnetsAndGroups(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	ask := func() {
		t.Helper()
		found, err := p.SubnetsByID(t.Context(), []string{public1a})
		if err != nil || len(found) != 1 || found[0].ID != public1a || found[0].Zone != "us-east-1a" {
			t.Fatalf("the subnet is %+v, %v", found, err)
		}
	}
	for _, row := range []struct {
		reason string
		forget func()
		asked  int
	}{
		{"it is asked for once", func() {}, 0},
		{"another one is forgotten", func() { p.ForgetSubnets("subnet-0123456789abcdef0") }, 0},
		{"it is forgotten", func() { p.ForgetSubnets("subnet-0123456789abcdef0", public1a) }, 1},
	} {
		ask()
		before := p.asked("DescribeSubnets")
		row.forget()
		ask()
		if asked := p.asked("DescribeSubnets") - before; asked != row.asked {
			t.Errorf("%s: it was asked for %d times, want %d", row.reason, asked, row.asked)
		}
	}
	if _, err := p.SubnetsByID(t.Context(), []string{public1a, "subnet-0123456789abcdef0"}); !notFound(err, "subnet-0123456789abcdef0") {
		t.Errorf("a subnet that does not exist: %v", err)
	}

	for _, row := range []struct {
		reason    string
		ids, want []string
	}{
		{"none is asked for", nil, nil},
		{"all exist", []string{groupA, groupB}, []string{}},
		{"one does not", []string{groupA, "sg-0123456789abcdef0"}, []string{"sg-0123456789abcdef0"}},
		{"none does", []string{"sg-0123456789abcdef0"}, []string{"sg-0123456789abcdef0"}},
	} {
		missing, err := p.MissingSecurityGroups(t.Context(), row.ids)
		if err != nil || !slices.Equal(missing, row.want) {
			t.Errorf("%s: %q are missing, %v", row.reason, missing, err)
		}
	}
	if _, err := p.sim.AddFault(awssim.Fault{Action: "DescribeSecurityGroups", Code: "UnauthorizedOperation", Status: 403, Message: "denied"}); err != nil {
		t.Fatal(err)
	}
	if missing, err := p.MissingSecurityGroups(t.Context(), []string{groupA, groupB}); err != nil || len(missing) > 0 {
		t.Errorf("what is known is asked for again: %q, %v", missing, err)
	}
	p.ForgetSecurityGroups()
	if missing, err := p.MissingSecurityGroups(t.Context(), []string{groupA, groupB}); err == nil {
		t.Errorf("groups that may not be described count as missing: %q", missing)
	}
	if ids, err := p.SecurityGroupIDs(t.Context(), vpc, []infrav1.AWSResourceReference{byFilters("tag:Name", "node")}); err == nil {
		t.Errorf("groups that may not be described are %q", ids)
	}
}
