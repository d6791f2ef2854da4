package adversary

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	awsworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

func TestMain(m *testing.M) { labtest.MainWith(m, lab.Options{WithoutPools: true}) }

const (
	// rate lets simulated minutes pass in fractions of a second, on a machine that keeps up.
	rate = 120
	// testerKey begins the access keys that tests call AWS with.
	testerKey = "AKIATESTER0000"
	bucket    = "cluster-api-provider-aws-bootstrap"
	subnet    = "subnet-0b2000000000000aa"
	// version is the Kubernetes version of the EKS clusters.
	version = fleet.ManagedVersion
	// self and managed are the clusters of each tenant whose objects are not used for attacks, the
	// second one on EKS; rogue and rogueManaged are for attacks. Both tenants use the same names.
	self, managed, rogue, rogueManaged = "prod", "eks", "staging", "lab"
	// managedPool is the number of the honest pool on EKS, and ownPool the number of the first
	// honest pool whose name the other tenant does not use.
	managedPool, ownPool = 2, 3
)

// layout says which credentials the tenants have.
type layout string

const (
	// roles gives each tenant an IAM role in the same account.
	roles layout = "roles"
	// keys gives each tenant access keys in the same account.
	keys layout = "keys"
	// accounts gives each tenant a role in an account of its own.
	accounts layout = "accounts"
	// shared has both tenants use the manager's own credentials.
	shared layout = "shared"
)

var layouts = []layout{roles, keys, accounts, shared}

// world is two tenants, the third cluster that Cluster API Provider AWS runs, and Slipway's manager.
type world struct {
	*labtest.Env
	layout  layout
	clock   *simclock.Clock
	oracle  *oracle
	journal *journal
	manager *lab.RunningManager
	tenants []*tenant
	victim  *victim
	// victims counts the victims that there were: a test that finds one harmed goes on with
	// another.
	victims int
}

// tenant is a user with all rights in one namespace.
type tenant struct {
	*world
	party     owner
	namespace string
	account   string
	// identity is what the tenant's clusters name.
	identity *capav1.AWSIdentityReference
	// user has the tenant's rights at the API server.
	user client.Client
	// honest are the machine pools that the tenant does not attack, by number, and managed is the
	// one on EKS. Those below ownPool have the names of the other tenant's.
	honest, managed *fleet.Fleet
	numbers         []int
}

// quickly are instance times that keep the order of things and cost little.
var quickly = awssim.InstanceTimes{Pending: 10 * time.Second, Boot: 20 * time.Second, ShuttingDown: 10 * time.Second}

func newWorld(t *testing.T, chosen layout) *world {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	simulated := fleet.World()
	for _, party := range []string{"red", "blue"} {
		simulated.Roles = append(slices.Clone(simulated.Roles), awsworld.Role{Name: "tenant-" + party, TrustedPrincipals: []string{"*"}})
	}
	simulated.Regions = simulated.Regions[:1] // the oracle judges by the resources of one region
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{Clock: clock, World: simulated, Behavior: awssim.Behavior{InstanceTimes: quickly}}})
	w := &world{Env: env, layout: chosen, clock: clock}
	w.oracle = newOracle(env.Cloud.AWS, func(account, name string) map[string]string {
		return groupTags(env.Context(), tester(env.AWSConfig(), account), name)
	})
	w.oracle.private = chosen != shared
	w.restrictOwnCredentials()
	w.createVictim()
	for i, party := range []string{"red", "blue"} {
		w.tenants = append(w.tenants, w.newTenant(owner(party), i))
	}
	w.must(w.oracle.watch())
	t.Cleanup(w.abandon)
	w.startManager()
	return w
}

// abandon removes what the product reconciles, once its manager has stopped: the manager of the
// next world serves all namespaces.
func (w *world) abandon() {
	ctx := context.WithoutCancel(w.Context())
	for _, n := range w.tenants {
		for _, list := range lists() {
			if err := w.Client.List(ctx, list, client.InNamespace(n.namespace)); err != nil {
				w.Errorf("listing what is left: %v", err)
			}
			for _, object := range itemsOf(list) {
				before := object.DeepCopyObject().(client.Object)
				object.SetFinalizers(nil)
				for _, err := range []error{w.Client.Patch(ctx, object, client.MergeFrom(before)), w.Client.Delete(ctx, object)} {
					if client.IgnoreNotFound(err) != nil {
						w.Errorf("taking %s away: %v", describe(object), err)
					}
				}
			}
		}
	}
}

// must fails the test for an error of the test itself.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// restrictOwnCredentials says which namespaces may use the manager's own credentials: none, or all.
func (w *world) restrictOwnCredentials() {
	w.Helper()
	own := &capav1.AWSClusterControllerIdentity{}
	w.must(w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, own))
	own.Spec.AllowedNamespaces = &capav1.AllowedNamespaces{}
	if w.oracle.private {
		own.Spec.AllowedNamespaces.NamespaceList = []string{"platform"}
	}
	w.must(w.Client.Update(w.Context(), own))
}

// startManager runs one manager for all namespaces.
func (w *world) startManager() {
	w.Helper()
	logger, journal := newLog()
	w.journal = journal
	w.manager = w.StartManager(product.Manager(product.Settings{
		Log: logger,
		WrapAWS: func(next http.RoundTripper) http.RoundTripper {
			return w.oracle.transport(next)
		},
		Change: func(options *manager.Options) {
			options.Namespace, options.CallBackoff = "", time.Millisecond // which is real time
		},
	}))
}

func (w *world) newTenant(party owner, number int) *tenant {
	w.Helper()
	n := &tenant{world: w, party: party, namespace: fmt.Sprintf("%s-%s", w.Namespace, party), account: w.Account}
	if w.layout == accounts && number > 0 {
		n.account = "555" + w.Account[3:]
	}
	w.must(w.Client.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.namespace}}))
	w.oracle.parties[n.namespace] = party
	n.user = n.newUser()
	n.identity = n.newIdentity()
	n.createClusters([]lab.ClusterOptions{
		{Name: self, Bucket: bucket}, {Name: rogue, Bucket: bucket},
		{Name: managed, Managed: true, KubernetesVersion: version}, {Name: rogueManaged, Managed: true, KubernetesVersion: version},
	})
	n.numbers = []int{0, 1, ownPool + number}
	n.honest = &fleet.Fleet{Client: n.user, Namespace: n.namespace, Cluster: self, Subnet: subnet, Replicas: 1, Shape: shape}
	n.managed = &fleet.Fleet{Client: n.user, Namespace: n.namespace, Cluster: managed, Subnet: subnet, Replicas: 1, Managed: true}
	return n
}

// createClusters creates the tenant's clusters, all at the same time.
func (n *tenant) createClusters(all []lab.ClusterOptions) {
	n.Helper()
	failures := make([]error, len(all))
	var group sync.WaitGroup
	for i, options := range all {
		options.Namespace, options.Cloud, options.Account, options.Timeout = n.namespace, n.Cloud, n.account, 2*time.Minute
		group.Go(func() { _, failures[i] = n.Lab.NewCluster(n.Context(), options) })
	}
	group.Wait()
	n.must(errors.Join(failures...))
	for _, options := range all {
		n.useIdentity(options)
	}
}

// shape has every second pool keep its bootstrap data in a parameter.
func shape(i int, pool *infrav1.AWSMachinePool) {
	if i%2 == 1 {
		fleet.StoreIn(infrav1.BootstrapStorageSSM, pool)
	}
}

// newUser returns a client with the rights of a user who may do anything in the tenant's namespace.
func (n *tenant) newUser() client.Client {
	n.Helper()
	config, err := n.Lab.Management.ServiceAccountConfig(n.Context(), n.namespace, "user")
	n.must(err)
	meta := metav1.ObjectMeta{Namespace: n.namespace, Name: "everything"}
	n.must(n.Client.Create(n.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}))
	n.must(n.Client.Create(n.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "everything"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: n.namespace, Name: "user"}},
	}))
	user, err := client.New(config, client.Options{Scheme: n.Client.Scheme()})
	n.must(err)
	return user
}

// newIdentity creates what the tenant's clusters name, for its namespace alone.
func (n *tenant) newIdentity() *capav1.AWSIdentityReference {
	n.Helper()
	name, allowed := n.namespace, &capav1.AllowedNamespaces{NamespaceList: []string{n.namespace}}
	switch n.layout {
	case shared:
		return &capav1.AWSIdentityReference{Kind: capav1.ControllerIdentityKind, Name: "default"}
	case keys:
		key := "AKIA" + strings.ToUpper(string(n.party)) + "00" + n.account
		n.oracle.roles[key] = n.party
		n.must(n.secretNamespace())
		n.must(n.Client.Create(n.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: identity.DefaultSecretNamespace, Name: name},
			StringData: map[string]string{"AccessKeyID": key, "SecretAccessKey": lab.SecretAccessKey},
		}))
		static := &capav1.AWSClusterStaticIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
		static.Spec.AllowedNamespaces, static.Spec.SecretRef = allowed, name
		n.must(n.Client.Create(n.Context(), static))
		return &capav1.AWSIdentityReference{Kind: capav1.ClusterStaticIdentityKind, Name: name}
	default:
		n.oracle.roles["tenant-"+string(n.party)+"/"] = n.party
		role := &capav1.AWSClusterRoleIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
		role.Spec.AllowedNamespaces, role.Spec.RoleArn = allowed, "arn:aws:iam::"+n.account+":role/tenant-"+string(n.party)
		n.must(n.Client.Create(n.Context(), role))
		return &capav1.AWSIdentityReference{Kind: capav1.ClusterRoleIdentityKind, Name: name}
	}
}

func (w *world) secretNamespace() error {
	err := w.Client.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: identity.DefaultSecretNamespace}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// useIdentity has a cluster of the tenant's name its identity.
func (n *tenant) useIdentity(options lab.ClusterOptions) {
	n.Helper()
	if options.Managed {
		controlPlane := &eksv1.AWSManagedControlPlane{}
		n.must(n.Client.Get(n.Context(), client.ObjectKey{Namespace: n.namespace, Name: options.Name + "-control-plane"}, controlPlane))
		controlPlane.Spec.IdentityRef = n.identity
		n.must(n.Client.Update(n.Context(), controlPlane))
		return
	}
	cluster := &capav1.AWSCluster{}
	n.must(n.Client.Get(n.Context(), client.ObjectKey{Namespace: n.namespace, Name: options.Name}, cluster))
	cluster.Spec.IdentityRef = n.identity
	n.must(n.Client.Update(n.Context(), cluster))
}

// createHonest creates the pools that have to converge whatever the other tenant does.
func (n *tenant) createHonest() {
	n.Helper()
	for _, number := range n.numbers {
		n.must(n.honest.Create(n.Context(), number, number+1))
	}
	n.must(n.managed.Create(n.Context(), managedPool, managedPool+1))
}

// converged is nil once the honest pools of both tenants are as their specs say.
func (w *world) converged() error {
	for _, n := range w.tenants {
		for _, number := range n.numbers {
			pool := &infrav1.AWSMachinePool{}
			if err := n.user.Get(w.Context(), n.honest.Key(number), pool); err != nil {
				return err
			}
			if reason := fleet.Unsettled(pool); reason != "" {
				return fmt.Errorf("%s of %s: %s", pool.Name, n.party, reason)
			}
		}
		pool := &infrav1.AWSManagedMachinePool{}
		if err := n.user.Get(w.Context(), n.managed.Key(managedPool), pool); err != nil {
			return err
		}
		if reason := fleet.UnsettledManaged(pool); reason != "" {
			return fmt.Errorf("%s of %s: %s", pool.Name, n.party, reason)
		}
	}
	return nil
}

// other is the tenant that this one attacks.
func (n *tenant) other() *tenant {
	if n.tenants[0] == n {
		return n.tenants[1]
	}
	return n.tenants[0]
}

// tester returns the configuration that the test itself calls AWS with.
func tester(config aws.Config, account string) aws.Config { return as(config, testerKey+account) }

// as returns a configuration with an access key.
func as(config aws.Config, key string) aws.Config {
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: "none"}, nil
	})
	return config
}

// groupTags returns the tags of an Auto Scaling group, none if it does not exist.
func groupTags(ctx context.Context, config aws.Config, name string) map[string]string {
	found := map[string]string{}
	out, err := autoscaling.NewFromConfig(config).DescribeAutoScalingGroups(ctx,
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		return found
	}
	for _, group := range out.AutoScalingGroups {
		for _, tag := range group.Tags {
			found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	return found
}

func (w *world) ec2(account string) *ec2.Client {
	return ec2.NewFromConfig(tester(w.AWSConfig(), account))
}

func (w *world) autoscaling(account string) *autoscaling.Client {
	return autoscaling.NewFromConfig(tester(w.AWSConfig(), account))
}
