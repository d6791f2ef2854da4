package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
	"github.com/slipway-project/slipway/internal/workload"
)

// exitChanges is the exit code of `slipway plan` if the edit changes something in AWS.
const exitChanges = 2

// planTimeout bounds a plan.
const planTimeout = 5 * time.Minute

// planFlags holds the flags of the command.
type planFlags struct {
	kubeconfigFlags
	namespace, output string
	files, set        []string
	kustomization     string
	// The settings of the manager.
	secretNamespace                string
	machines                       bool
	settleWindow                   time.Duration
	nodeRolePath, nodeRoleBoundary string
	// roleARN is the manager's role, whose permissions are checked.
	roleARN string
}

func newPlanCommand(prepare preparation) *cobra.Command {
	flags := &planFlags{}
	command := &cobra.Command{
		Use:   "plan [POOL] [--set PATH=VALUE | -f FILE | -k DIRECTORY]",
		Short: "Show what an edit does to nodes before it is made",
		Long: `Show what an edit does to nodes before it is made: which launch template versions are created, which
instances are replaced and why, and what changes in place.

POOL is the name of an AWSMachinePool, of an AWSManagedMachinePool, or of the MachinePool of one. With its kind before it, it is the
object that is edited, such as machinepool/workers or, for all pools that share it, awslaunchconfig/shared.

The command changes nothing. The API server validates the edit in a dry run. Then Slipway's controllers run in this process:
they read the management cluster and AWS with your credentials, and what they write is kept in memory. The plan ends where
the roll-out begins. What follows is estimated: its batches, how long it takes, and which PodDisruptionBudgets hold drains.

Give the files or the kustomization that you would give to "kubectl apply", or the name of a pool with the fields to set. Objects of
the kinds AWSMachinePool, AWSManagedMachinePool, MachinePool, AWSLaunchConfig, and AWSLaunchConfigTemplate can be planned.

The exit code is 0 if nothing changes in AWS, 2 if something changes, and 1 if the edit is refused or would not succeed.`,
		Example: `  slipway plan workers -n blue --set spec.awsLaunchTemplate.instanceType=m7i.large
  slipway plan -f pool.yaml
  slipway plan -k overlays/production
  helm template pools | slipway plan -f - -o json`,
		Args: atMostOne,
		RunE: func(command *cobra.Command, args []string) error { return flags.run(command, args, prepare) },

		ValidArgsFunction: flags.complete,
	}
	flags.bind(command.Flags())
	command.Flags().StringVar(&flags.roleARN, "role-arn", "", "ARN of the manager's role, whose permissions are checked; the identity that reads AWS if empty")
	return command
}

func (f *planFlags) bind(set *pflag.FlagSet) {
	f.bindManager(set)
	set.StringArrayVarP(&f.files, "filename", "f", nil, "file with the edited objects, - for standard input; can be repeated")
	set.StringVarP(&f.kustomization, "kustomize", "k", "", "directory of a kustomization with the edited objects; not together with --filename")
	set.StringArrayVar(&f.set, "set", nil, "field of the pool and its value in YAML, such as spec.maxSize=5; can be repeated")
	bindOutput(set, &f.output)
}

// bindManager adds the flags that select the management cluster, and describe its manager.
func (f *planFlags) bindManager(set *pflag.FlagSet) {
	f.kubeconfigFlags.bind(set)
	set.StringVarP(&f.namespace, "namespace", "n", "", "namespace of objects without one; the namespace of the kubeconfig's context if empty")
	BindSecretNamespace(set, &f.secretNamespace)
	set.BoolVar(&f.machines, "machine-pool-machines", false, "set it if the manager has this flag")
	set.DurationVar(&f.settleWindow, "rollout-settle-window", manager.DefaultSettleWindow, "the manager's value of this flag; the command itself does not wait")
	BindNodeRoles(set, &f.nodeRolePath, &f.nodeRoleBoundary)
}

func (f *planFlags) run(command *cobra.Command, args []string, prepare preparation) error {
	ctx, cancel := context.WithTimeout(command.Context(), planTimeout)
	defer cancel()
	if err := checkRole(f.roleARN); err != nil {
		return err
	}
	planner, edited, err := prepare(ctx, f, command, args)
	if err != nil {
		return err
	}
	planner.CheckPermissions, planner.RoleARN = true, f.roleARN
	forMany(planner)
	made, err := planner.Plan(ctx, edited...)
	if err != nil {
		return err
	}
	if err := printPlan(command.OutOrStdout(), made, f.output); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	return exitOf(made)
}

// exitOf returns the error with the exit code of a plan.
func exitOf(made plan.Plan) error {
	switch {
	case made.Failed():
		return errors.New("a pool would not reach its spec: see the plan")
	case !made.Empty():
		return &exitError{code: exitChanges}
	}
	return nil
}

// preparation returns a planner, and the objects that flags edit.
type preparation func(ctx context.Context, f *planFlags, command *cobra.Command, args []string) (*plan.Planner, []client.Object, error)

// prepareInCluster prepares for the management cluster of the kubeconfig.
func prepareInCluster(ctx context.Context, f *planFlags, command *cobra.Command, args []string) (*plan.Planner, []client.Object, error) {
	if err := f.check(args); err != nil {
		return nil, nil, err
	}
	cluster, err := f.connect(command.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	edited, err := f.edits(ctx, command.InOrStdin(), command.ErrOrStderr(), cluster, args)
	if err != nil {
		return nil, nil, err
	}
	planner, err := f.planner(ctx, cluster)
	return planner, edited, err
}

// check returns what is wrong with the flags.
func (f *planFlags) check(args []string) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	switch {
	case len(args) == 0 && len(f.files) == 0 && f.kustomization == "":
		return errors.New("nothing to plan: give files with -f, a kustomization with -k, or the name of a pool with --set")
	case len(f.files) > 0 && f.kustomization != "":
		return errors.New("give either files with -f, or a kustomization with -k")
	case len(args) == 1 && (len(f.files) > 0 || f.kustomization != ""):
		return errors.New("give either files with -f or -k, or the name of a pool")
	case len(args) == 0 && len(f.set) > 0:
		return errors.New("--set needs the name of a pool")
	}
	return nil
}

// planCluster is the connection to the management cluster.
type planCluster struct {
	client.Client
	namespace string
}

// connect finds the management cluster. Warnings of its API server are written to warnings.
func (f *planFlags) connect(warnings io.Writer) (planCluster, error) {
	config, err := f.config()
	if err != nil {
		return planCluster{}, err
	}
	config.WarningHandler = printableWarnings{rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})}
	scheme, err := manager.NewScheme()
	if err != nil {
		return planCluster{}, err
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return planCluster{}, fmt.Errorf("building the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return planCluster{}, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	namespace, err := f.namespaceOr(f.namespace)
	if err != nil {
		return planCluster{}, err
	}
	return planCluster{Client: c, namespace: namespace}, nil
}

// printableWarnings passes warnings of the API server on without characters that a terminal interprets.
type printableWarnings struct{ rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (w printableWarnings) HandleWarningHeader(code int, agent, message string) {
	w.WarningHandler.HandleWarningHeader(code, agent, printable(message))
}

// planner returns a planner with the definitions of the cluster.
func (f *planFlags) planner(ctx context.Context, cluster planCluster) (*plan.Planner, error) {
	base, err := aws.LoadBase(ctx)
	if err != nil {
		return nil, err
	}
	definitions := apitest.Definitions{}
	for _, name := range []string{"awsmachinepools", "awslaunchconfigs", "awslaunchconfigtemplates", "awsmachinepoolmachines"} {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := cluster.Get(ctx, client.ObjectKey{Name: name + "." + infrav1.GroupVersion.Group}, definition)
		if err != nil {
			return nil, fmt.Errorf("reading the CustomResourceDefinition of %s: %w", name, err)
		}
		definitions[definition.Spec.Names.Kind] = definition
	}
	workloads := workload.New(cluster, clock.RealClock{})
	workloads.Loopback = true // the clusters of a developer run on the machine of this command
	return &plan.Planner{
		Workloads: workloads,
		Cluster:   cluster, AWS: base, Kinds: apiserver.NewKinds(cluster.Scheme(), definitions), Clock: clock.RealClock{},
		SecretNamespace: f.secretNamespace, SettleWindow: f.settleWindow, MachinePoolMachines: f.machines,
		NodeRolePath: f.nodeRolePath, NodeRoleBoundary: f.nodeRoleBoundary,
	}, nil
}

// edits returns the edited objects as the API server would store them. Objects that a plan does not
// consider are noted.
func (f *planFlags) edits(ctx context.Context, in io.Reader, notes io.Writer, cluster planCluster, args []string) ([]client.Object, error) {
	if len(args) == 1 {
		object, err := cluster.subject(ctx, args[0])
		if err != nil {
			return nil, err
		}
		patch, err := patchOf(f.set)
		if err != nil {
			return nil, err
		}
		edited := object.DeepCopy()
		if err := cluster.strict().Patch(ctx, edited, client.RawPatch(types.MergePatchType, patch), client.DryRunAll); err != nil {
			refused := launchRefusal(object, f.set, err)
			if refused == nil {
				refused = refusal(object.GetKind(), err)
			}
			return nil, fmt.Errorf("trying the edit of %s %q: %w", object.GetKind(), object.GetName(), refused)
		}
		return []client.Object{edited}, nil
	}
	objects, err := f.objects(in)
	if err != nil {
		return nil, err
	}
	return cluster.applyAll(ctx, notes, objects)
}

// strict returns a client whose writes are refused if they have a field that does not exist, like the
// writes of `kubectl apply`. Such a field is a typo, and a plan without it would mislead.
func (c planCluster) strict() client.Client {
	return client.WithFieldValidation(c.Client, metav1.FieldValidationStrict)
}

// applyAll tries the objects of files that can be planned, and notes the others.
func (c planCluster) applyAll(ctx context.Context, notes io.Writer, objects []*unstructured.Unstructured) ([]client.Object, error) {
	var edited []client.Object
	known := map[string]bool{}
	for _, object := range objects {
		kind, name := object.GetKind(), object.GetName()
		if !plan.CanPlan(kind) {
			fmt.Fprintf(notes, "%s %s is not part of the plan\n", printable(kind), printable(name))
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("the files have an object of kind %s without metadata.name, or with a name that is not text", kind)
		}
		applied, err := c.apply(ctx, object)
		if err != nil {
			return nil, fmt.Errorf("trying the edit of %s %q: %w", kind, name, refusal(kind, err))
		}
		identity := fmt.Sprintf("%s %s", kind, client.ObjectKeyFromObject(applied))
		if known[identity] {
			return nil, fmt.Errorf("the files have %s more than once: leave the edit that you do not want to plan out", identity)
		}
		known[identity] = true
		edited = append(edited, applied)
	}
	if len(edited) == 0 {
		return nil, fmt.Errorf("the files have no object that can be planned, which is one of the kinds %s", plan.KindsPlanned())
	}
	return edited, nil
}

// objects reads the objects of the kustomization, or of the files.
func (f *planFlags) objects(in io.Reader) ([]*unstructured.Unstructured, error) {
	if f.kustomization != "" {
		return kustomized(f.kustomization)
	}
	var all []*unstructured.Unstructured
	for _, name := range f.files {
		objects, err := readObjects(in, name)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// patchOf returns a merge patch that sets fields. Each is a path, an equals sign, and a value in YAML,
// empty to remove the field.
func patchOf(settings []string) ([]byte, error) {
	patch := map[string]any{}
	for _, setting := range settings {
		field, text, found := strings.Cut(setting, "=")
		if !found || field == "" {
			return nil, fmt.Errorf("--set is %.100q, and must be a path and a value, such as spec.maxSize=5", setting)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("--set %s: reading the value: %w", field, err)
		}
		if unstructured.SetNestedField(patch, value, strings.Split(field, ".")...) != nil {
			return nil, fmt.Errorf("--set %s: another --set gives a field that this one is part of a value that has no fields", field)
		}
	}
	return json.Marshal(patch)
}

// apply tries an object as `kubectl apply` does, and returns it as the API server would store it.
func (c planCluster) apply(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if namespaced, err := c.IsObjectNamespaced(object); err == nil && namespaced && object.GetNamespace() == "" {
		object.SetNamespace(c.namespace)
	}
	current, err := c.present(ctx, object.GroupVersionKind(), object)
	switch {
	case err != nil:
		return nil, err
	case current == nil:
		err = c.strict().Create(ctx, object, client.DryRunAll)
	default:
		err = c.patch(ctx, current, object)
	}
	kind := object.GroupVersionKind()
	switch {
	case err != nil:
		return nil, err
	case kind.Group == infrav1.GroupVersion.Group:
		object.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind.Kind)) // all versions have one schema
		return object, nil
	case kind != machinePoolV1Beta1:
		return object, nil
	}
	if current, err = c.present(ctx, clusterv1.GroupVersion.WithKind("MachinePool"), object); err != nil {
		return nil, err
	}
	return plan.UpgradeMachinePool(current, object)
}

// machinePoolV1Beta1 is the kind MachinePool at the version before the one that Slipway reads.
var machinePoolV1Beta1 = schema.GroupVersionKind{Group: clusterv1.GroupVersion.Group, Version: "v1beta1", Kind: "MachinePool"}

// present returns the stored object of a kind that has the name of another, nil if there is none.
func (c planCluster) present(ctx context.Context, kind schema.GroupVersionKind, named client.Object) (*unstructured.Unstructured, error) {
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(kind)
	err := c.Get(ctx, client.ObjectKeyFromObject(named), current)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, &noKindError{kind: kind, err: err}
	case err != nil:
		return nil, err
	}
	return current, nil
}

// patch tries the patch by which `kubectl apply` brings an object to the state in a file. The patch
// removes the fields that were applied last and are no longer in the file.
func (c planCluster) patch(ctx context.Context, current, object *unstructured.Unstructured) error {
	file, err := json.Marshal(object)
	if err != nil {
		return err
	}
	annotated := object.DeepCopy()
	annotations := annotated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(file)
	annotated.SetAnnotations(annotations)
	modified, err := json.Marshal(annotated)
	if err != nil {
		return err
	}
	present, err := json.Marshal(current)
	if err != nil {
		return err
	}
	applied := []byte(current.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(applied, modified, present)
	if err != nil {
		return fmt.Errorf("computing the patch: %w", err)
	}
	return c.strict().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
}

func printPlan(out io.Writer, made plan.Plan, format string) error {
	if format == textOutput {
		return plan.Print(out, made)
	}
	return encode(out, made, format)
}
