package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// credentialsTimeout limits the time to retrieve the first AWS credentials. The SDK tries the
// instance's metadata last, which may take some seconds in vain.
const credentialsTimeout = 15 * time.Second

// kind is one that the manager watches, and who brings it.
type kind struct {
	object client.Object
	from   string
}

// requiredKinds are those without which the manager has nothing to do.
func requiredKinds() []kind {
	return []kind{
		{&clusterv1.Cluster{}, "Cluster API"},
		{&clusterv1.MachinePool{}, "Cluster API"},
		{&infrav1.AWSMachinePool{}, "Slipway's definitions, config/crd"},
		{&infrav1.AWSManagedMachinePool{}, "Slipway's definitions, config/crd"},
		{&infrav1.AWSMachinePoolMachine{}, "Slipway's definitions, config/crd"},
		{&infrav1.AWSLaunchConfig{}, "Slipway's definitions, config/crd"},
		{&infrav1.AWSLaunchConfigTemplate{}, "Slipway's definitions, config/crd"},
	}
}

// checkAWS fails if the manager has no credentials of its own. Without it every object would say
// so, and the reason would be found last.
func checkAWS(ctx context.Context, options Options) error {
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	err := errors.New("none are configured")
	if options.AWS.Credentials != nil {
		_, err = options.AWS.Credentials.Retrieve(ctx)
	}
	if err != nil {
		return fmt.Errorf("no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod's service account or the instance an IAM role: %w", err)
	}
	if options.AWS.Region == "" {
		options.Log.Info("AWS_REGION is not set: only clusters that name their region are served")
	}
	return nil
}

// kinds are the kinds that are watched.
type kinds struct {
	all []client.Object
	// networks lists CAPA's kinds that have a cluster's network, and identities lists its kinds
	// that define the identities for calls to AWS.
	networks, identities []client.Object
}

// watchedKinds finds the kinds to watch. Of CAPA's any may be missing, since it may run without
// EKS. It fails if the API server cannot be asked, or another kind is not installed.
func watchedKinds(manager ctrl.Manager) (kinds, error) {
	var watched kinds
	for _, required := range requiredKinds() {
		name, err := find(manager, required.object)
		if meta.IsNoMatchError(err) {
			return kinds{}, fmt.Errorf("kind %s is not installed in the management cluster: install %s", name, required.from)
		}
		if err != nil {
			return kinds{}, err
		}
		watched.all = append(watched.all, required.object)
	}
	var err error
	if watched.networks, err = installed(manager, &capav1.AWSCluster{}, &eksv1.AWSManagedControlPlane{}); err != nil {
		return kinds{}, err
	}
	watched.identities, err = installed(manager, &capav1.AWSClusterControllerIdentity{}, &capav1.AWSClusterRoleIdentity{}, &capav1.AWSClusterStaticIdentity{})
	watched.all = slices.Concat(watched.all, watched.networks, watched.identities)
	return watched, err
}

// installed returns the objects whose kinds the API server knows.
func installed(manager ctrl.Manager, objects ...client.Object) ([]client.Object, error) {
	var found []client.Object
	for _, object := range objects {
		name, err := find(manager, object)
		if meta.IsNoMatchError(err) {
			manager.GetLogger().Info("Kind is not installed, and not watched", "kind", name)
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}

// find asks the API server for an object's kind, and returns its name in any case.
func find(manager ctrl.Manager, object client.Object) (string, error) {
	gvk, err := apiutil.GVKForObject(object, manager.GetScheme())
	if err != nil {
		return "", fmt.Errorf("naming the kind of %T: %w", object, err)
	}
	name := gvk.Kind + " (" + gvk.GroupVersion().String() + ")"
	_, err = manager.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		err = fmt.Errorf("asking the API server at %s for kind %s: %w", manager.GetConfig().Host, name, err)
	}
	return name, err
}
