package migration

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Kinds of pools, and the kind of the objects by which CAPA represents instances of a pool.
const (
	selfManaged = "AWSMachinePool"
	managed     = "AWSManagedMachinePool"
	capaMachine = "AWSMachine"
)

// resources returns the names of the resources that Slipway takes over with a pool.
func (p Pool) resources() string {
	if p.Kind == managed {
		return "node group " + p.Resource + " and its launch template"
	}
	return "Auto Scaling group " + p.Resource + " and its launch template"
}

// leaveOut is the sentence about migrating without a pool.
var leaveOut = fmt.Sprintf(" To leave the pool out of the migration, set its annotation %s; no controller manages its nodes meanwhile.", clusterv1.PausedAnnotation)

// decideCheck reports whether the objects show that Slipway can take a pool over.
func decideCheck(o Observed, p Pool) Step {
	step := Step{Name: CheckPool, Target: poolTarget(p), State: Blocked}
	problem, remedy := p.problem()
	if problem == "" {
		problem, remedy = unnamed(o, p)
	}
	switch {
	case p.LeftOut:
		return done(step, Skipped, "The annotation %s is set, so the pool is left out.", clusterv1.PausedAnnotation)
	case p.Owned:
		return done(step, Done, "Slipway manages the pool already.")
	case p.Deleting:
		problem, remedy = "The pool is being deleted.", "Wait until CAPA has deleted it."
	case problem == "":
		return done(step, Done, "Slipway can take over %s.", p.resources())
	}
	step.Found, step.Nodes = problem, "Slipway would not take the pool over. Its nodes would keep running, and no controller would manage them."
	step.Remedy = remedy + again + leaveOut
	return step
}

// problem returns why Slipway cannot take a pool over, whatever its resources are, and what to do about it.
// Both are empty if it can.
func (p Pool) problem() (problem, remedy string) {
	switch {
	case p.Refused != "":
		return sentence(p.Refused), "Correct the objects that the message names."
	case p.MachineKind == capaMachine:
		return "CAPA represents the pool's instances as AWSMachines (feature gate MachinePoolMachines), and would terminate instances with them.",
			"Leave the pool out first. Once CAPA's controllers of pools are off, delete its Machines and AWSMachines as docs/how-to/migration.md describes, and remove the annotation."
	case p.SharedConfig:
		return "The pool refers to an AWSLaunchConfig in spec.launchConfigRef. Slipway takes a launch template over only into a launch config that the pool owns.",
			"Create a pool with awsLaunchTemplate, and migrate to it."
	}
	return "", ""
}

// unnamed returns why a pool does not name its Auto Scaling group, or is not the only one that does, and
// what to do about it.
func unnamed(o Observed, p Pool) (problem, remedy string) {
	if p.Kind != selfManaged {
		return "", ""
	}
	arn := p.namedARN()
	other := slices.IndexFunc(o.Pools, func(other Pool) bool {
		return other.Kind == selfManaged && (other.Namespace != p.Namespace || other.Name != p.Name) && arn != "" && other.namedARN() == arn
	})
	switch {
	case arn == "":
		found := "spec.providerID does not name an Auto Scaling group."
		if name := groupOf(p.ProviderID); name != "" {
			found = fmt.Sprintf("spec.providerID names Auto Scaling group %s, and CAPA and Slipway look for %s.", name, p.Resource)
		}
		return found, fmt.Sprintf("If Auto Scaling group %s belongs to the pool, set annotation %s to its ARN, which `aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names %s` prints.",
			p.Resource, infrav1.AdoptAnnotation, p.Resource)
	case other >= 0:
		return fmt.Sprintf("%s names the same Auto Scaling group.", poolTarget(o.Pools[other])), "Remove spec.providerID from the pool that should not have the group."
	}
	return "", ""
}

// namedARN returns the ARN by which a pool names the Auto Scaling group of its name, empty if it does not.
func (p Pool) namedARN() string {
	for _, arn := range []string{p.ProviderID, p.AdoptARN} {
		if groupOf(arn) == p.Resource {
			return arn
		}
	}
	return ""
}

// groupOf returns the name in the ARN of an Auto Scaling group, empty if it is not one:
// arn:aws:autoscaling:REGION:ACCOUNT:autoScalingGroup:UUID:autoScalingGroupName/NAME.
func groupOf(arn string) string {
	parts := strings.SplitN(arn, ":", 8)
	if len(parts) != 8 || parts[0] != "arn" || parts[2] != "autoscaling" || parts[5] != "autoScalingGroup" {
		return ""
	}
	name, _ := strings.CutPrefix(parts[7], "autoScalingGroupName/")
	return name
}

// placeOf returns the account and the region in the ARN of an Auto Scaling group, empty if it is not one.
func placeOf(arn string) (account, region string) {
	if groupOf(arn) == "" {
		return "", ""
	}
	parts := strings.SplitN(arn, ":", 8)
	return parts[4], parts[3]
}

// byUser are the reasons of conditions that only the user can resolve.
var byUser = []string{
	infrav1.AdoptionBlockedReason, infrav1.NameTakenReason, infrav1.OwnerTagMissingReason, infrav1.InvalidSpecReason, infrav1.RolledBackReason,
}

// isFalse reports whether a condition of Slipway's is False. CAPA's conditions have no generation.
func isFalse(condition metav1.Condition) bool {
	return condition.Status == metav1.ConditionFalse && condition.ObservedGeneration > 0
}

// needsUser reports whether a condition shows that Slipway waits for the user.
func needsUser(condition metav1.Condition) bool {
	return isFalse(condition) && slices.Contains(byUser, condition.Reason)
}

// decideTakeOver has Slipway take a pool over, after its cluster was resumed.
func decideTakeOver(p Pool, resume Step) Step {
	step := Step{Name: TakeOverPool, Target: poolTarget(p), State: Due}
	step.Change = fmt.Sprintf("Slipway tags %s as its own, and creates a launch template version for new instances.", p.resources())
	step.Nodes = "No node is replaced. Slipway drains nodes from now on before they terminate."
	switch {
	case p.LeftOut:
		return done(step, Skipped, "The annotation %s is set, so the pool is left out.", clusterv1.PausedAnnotation)
	case p.Owned && !p.Release:
		found := "Slipway manages the pool."
		if p.Adopted.Reason == infrav1.AdoptedWithDifferencesReason {
			found += " " + sentence(p.Adopted.Message)
		}
		return done(step, Done, "%s", found)
	case resume.State == Skipped:
		return done(step, Skipped, "The cluster stays paused.")
	case p.Release:
		step.patch = p.patch(p.unannotate(infrav1.ReleaseAnnotation))
		step.Found, step.Change = "The pool was released to CAPA.", "Remove annotation "+infrav1.ReleaseAnnotation+". "+step.Change
	case resume.State != Done:
		step.Found = "The cluster is not resumed yet."
	case needsUser(p.Ready):
		step.State, step.Found, step.Change = Blocked, sentence(p.Ready.Message), ""
		step.Nodes = "Slipway does not take the pool over. Its nodes keep running, and no controller manages them."
		step.Remedy = "Act on the message; docs/how-to/migration.md lists the reasons (" + p.Ready.Reason + ")." + again + leaveOut
	default:
		step.State, step.Found = Waiting, "Slipway is taking the pool over."
		if isFalse(p.Ready) {
			step.Found = sentence(p.Ready.Message)
		}
	}
	return step
}

// decidePin pins the image of a pool whose image is looked up. CAPA looks up the newest one in every
// reconcile.
func decidePin(p Pool) []Step {
	if p.LeftOut || !p.Owned || p.Lookup == nil {
		return nil
	}
	step := Step{Name: PinImage, Target: poolTarget(p), State: Due, Found: "The image is looked up. CAPA would look up the newest one, and replace all nodes."}
	if p.Image == "" {
		step.State, step.Nodes = Blocked, "CAPA would replace all nodes if a newer image exists."
		step.Remedy = "Wait until the status of the pool's AWSLaunchConfig has its image, or set spec.awsLaunchTemplate.ami.id to the image that runs." + again
		return []Step{step}
	}
	step.Change = fmt.Sprintf("Set spec.awsLaunchTemplate.ami.id to %s, and remove how it is looked up.", p.Image)
	step.Nodes, step.patch = "No node is replaced: all nodes run this image.", p.pin()
	return []Step{step}
}

// rollingOut reports whether Slipway may still replace nodes for an edit. Where roll-outs are disabled, CAPA
// does not replace nodes either.
func (p Pool) rollingOut() bool {
	condition := p.RolledOut
	if condition.ObservedGeneration == 0 || condition.Reason == infrav1.RefreshDisabledReason {
		return false
	}
	return condition.Status != metav1.ConditionTrue || condition.ObservedGeneration < p.Generation
}

// released reports whether Slipway has released a pool.
func (p Pool) released() bool {
	return p.Release && !p.Owned && p.Released.Status == metav1.ConditionTrue
}

// decideRelease has Slipway release a pool. Slipway could still take over a pool that it does not manage
// while its cluster is not paused.
func decideRelease(o Observed, p Pool) Step {
	step := Step{Name: ReleasePool, Target: poolTarget(p), State: Blocked}
	step.Nodes = "No node is replaced. Slipway leaves a launch template version that CAPA would have written, and no longer acts on the pool."
	cluster := o.clusterOf(p)
	paused := cluster != nil && cluster.paused()
	found, remedy := p.cannotRelease(o, paused)
	switch {
	case p.released():
		return done(step, Done, "Slipway has released the pool.")
	case p.LeftOut && !p.Owned:
		return done(step, Skipped, "The annotation %s is set, so the pool is left out.", clusterv1.PausedAnnotation)
	case !p.Owned && (!o.slipwayRuns() || paused):
		return done(step, Done, "Slipway does not manage the pool.")
	case found != "":
		step.Found, step.Remedy = found, remedy+again
		return step
	case p.Release:
		return awaitRelease(step, p)
	}
	return askForRelease(step, p)
}

// askForRelease asks Slipway to release a pool, once nothing is rolled out.
func askForRelease(step Step, p Pool) Step {
	switch {
	case needsUser(p.RolledOut):
		step.Found, step.Remedy = sentence(p.RolledOut.Message), "Edit the spec to match the configuration that runs ("+p.RolledOut.Reason+"), and wait until it is rolled out."+again
	case p.rollingOut():
		step = done(step, Waiting, "%s", strings.TrimSpace("Slipway has not rolled the latest edit of the pool out. "+sentence(p.RolledOut.Message)))
	default:
		step.State, step.patch = Due, p.patch(p.annotate(infrav1.ReleaseAnnotation, "true"))
		step.Found, step.Change = "Slipway manages the pool.", "Set annotation "+infrav1.ReleaseAnnotation+" of the pool to true."
	}
	return step
}

// awaitRelease shows how far Slipway is with the release of a pool.
func awaitRelease(step Step, p Pool) Step {
	if needsUser(p.Released) {
		step.Found, step.Remedy = sentence(p.Released.Message), "Act on the message; docs/how-to/migration.md lists the reasons ("+p.Released.Reason+")."+again
		return step
	}
	step = done(step, Waiting, "Slipway is releasing the pool.")
	if isFalse(p.Released) {
		step.Found = sentence(p.Released.Message)
	}
	return step
}

// cannotRelease returns why Slipway cannot release a pool, and what to do about it. Both are empty if it can.
func (p Pool) cannotRelease(o Observed, paused bool) (found, remedy string) {
	switch {
	case p.Deleting:
		return "The pool is being deleted.", "Wait until Slipway has deleted it."
	case o.Management.Manager == nil:
		return "Slipway manages the pool, and its manager is not installed in namespace " + o.Namespace + ".", "Install Slipway again, or name its namespace in --namespace."
	case p.LeftOut:
		return "Slipway manages the pool, and cannot release it while it is paused.", "Remove annotation " + clusterv1.PausedAnnotation + " from the pool."
	case paused:
		return "Slipway cannot release the pool while its cluster is paused.", "Set spec.paused of Cluster " + p.Namespace + "/" + p.Cluster + " to false."
	case p.OutsideData:
		return "Bootstrap data of the pool is stored outside the launch template, where CAPA does not look for it.",
			"Set spec.bootstrapStorage to UserData, and wait until the roll-out is complete."
	}
	return "", ""
}
