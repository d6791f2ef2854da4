package launchconfig

import (
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// Observed holds what a pass knows in addition to the AWSLaunchConfig itself. Facts that were not
// observed yet are nil.
type Observed struct {
	// Access is whether AWS can be called, and where.
	Access pool.Access
	// Usages describes the pools that launch from the config.
	Usages []usage
	// Owner is the pool whose own launch config this is.
	Owner ownerPool
	// Interval is how often what was looked up in AWS is checked again.
	Interval time.Duration
	// Template is the launch template with its versions.
	Template seenTemplate
	// Bootstrap is the Secret that the spec names, nil before it was read.
	Bootstrap *seenBootstrap
	// Stored is the bootstrap data outside of the template as it was seen last.
	Stored storedItem
	// Lookups are what the names in the spec lead to, Image the image, and EKSCluster what nodes
	// need to join an EKS cluster.
	Lookups    *lookups
	Image      *foundImage
	EKSCluster *answer[discovery.EKSCluster]
	// Data are versions' data, by number, and Facts what these name in AWS.
	Data  map[int64]answer[launchtemplate.Data]
	Facts map[int64]answer[inspection.Facts]
	// Use says who uses the versions of the template, and LastAsked is when AWS was last asked that.
	Use       *use
	LastAsked time.Time
	// VersionsRead is when this process last read all versions of the template because they were
	// needed, zero if it never did.
	VersionsRead time.Time
	// Refused are versions that EC2 refused to delete in this pass, with what it said.
	Refused map[int64]string
	// Warnings are what EC2 said in this pass of versions that it created, by number.
	Warnings map[int64]string
	// Verified lists the config fingerprints that EC2 confirmed in this pass that it would launch.
	Verified []string
	// Followed is the version that spec.existing names of a launch template that Slipway does not
	// own.
	Followed *followed
}

// answer is a fact, or why it is not known.
type answer[T any] struct {
	Value T
	Err   error
}

// seenTemplate is a launch template as it was observed.
type seenTemplate struct {
	launchtemplate.Observation
	// Err says why the template is not known, and VersionsErr why its versions are not.
	Err, VersionsErr error
	// Looked is true once the template was looked for.
	Looked bool
	// Adopt is the id of the template if it is not the config's yet, and proven to be its pool's.
	Adopt string
	// Named holds EC2's description of the template that status names, where none with the owner
	// tag is found by name; nil if one is, or status names none.
	Named *answer[*launchtemplate.Template]
	// Deleted are versions with the configuration in status that were deleted by hand.
	Deleted []int64
	// Ended is true once this pass deleted the template, or left it to Cluster API Provider AWS.
	Ended bool
	// swept is the template as the sweeps know it from this pass: as it was read from them, or was
	// put there since. Nil if neither.
	swept *launchtemplate.Template
}

// seenBootstrap is a Secret with bootstrap data.
type seenBootstrap struct {
	Exists bool
	Value  []byte
	Format string
}

// storedItem is bootstrap data outside of the template.
type storedItem struct {
	Location bootstrapstorage.Location
	Digest   string
	// Seen is when it was last looked for or written; zero for what is not known.
	Seen time.Time
	// Recorded is true if it is known from what an earlier process wrote down.
	Recorded bool
}

// lookups holds the results for the names in the spec. Each is looked up only if the ones before it
// succeeded.
type lookups struct {
	// ProfileErr says why the cluster's identity may not launch instances with the instance profile.
	ProfileErr error
	Groups     answer[[]string]
	Interfaces []foundInterface
	// Type is the zero value for a config that leaves the instance type to its consumers.
	Type answer[discovery.InstanceType]
}

// foundInterface holds the security groups and subnets of a network interface of the spec.
type foundInterface struct {
	Groups  answer[[]string]
	Subnets answer[[]discovery.Subnet]
}

// foundImage is the image that instances boot from.
type foundImage struct {
	discovery.Image
	Err error
	// Key is what the image was looked up for. It is empty if the image was not looked up.
	Key string
	// Gone is the id of the image that was kept until now and no longer exists.
	Gone string
}

// use describes which versions of a template are in use, and which version a pool may want back.
type use struct {
	InUse map[int64]bool
	Err   error
	// LastGood is the version that the pool may roll back to, 0 for none.
	LastGood int64
}

// ownerPool is the pool whose own launch config an AWSLaunchConfig is, as its owner reference names it.
type ownerPool struct {
	// Kind is empty for a config that no pool controls.
	Kind, Name string
	Exists     bool
	// Same is true if the pool has the UID of the owner reference.
	Same     bool
	Deleting bool
	// Own is true of a pool that has a launch config of its own with this name.
	Own bool
	// InstanceType is the one that awsLaunchTemplate of the pool names; nil without awsLaunchTemplate.
	InstanceType *string
}

// followed is a version of a launch template that Slipway does not own.
type followed struct {
	// Name of the template as the spec or status say, empty if neither does.
	Name string
	// Err says why the template is not known. Template is nil if there is none.
	Err      error
	Template *launchtemplate.Template
	// Version is what the version that the spec names is, nil before it was read.
	Version *answer[inspection.Version]
	// ProfileErr says why the cluster's identity may not launch instances with its instance profile.
	ProfileErr error
}

// Input holds everything that a decision is based on.
type Input = reconcile.Input[*infrav1.AWSLaunchConfig, Observed]

// The observations that cost calls.
const (
	// needBootstrap reads the Secret with the bootstrap data.
	needBootstrap reconcile.Need = "bootstrap data"
	// needLookups looks up what the spec names, and needImage the image.
	needLookups reconcile.Need = "lookups"
	needImage   reconcile.Need = "image"
	// needCluster asks EKS what nodes need to join a cluster.
	needCluster reconcile.Need = "EKS cluster"
	// needVersions reads versions that are known from status alone.
	needVersions reconcile.Need = "versions"
	// needUse reads the versions anew, and asks who uses them. In a deletion it asks who uses the template.
	needUse reconcile.Need = "use"
	// needTemplate sees the template of a config that is being deleted.
	needTemplate reconcile.Need = "template"
	// needNamed asks for the template that status names.
	needNamed reconcile.Need = "template that status names"
	// needFollowed reads the version that spec.existing names.
	needFollowed reconcile.Need = "followed version"
)

// dataNeed and factsNeed begin the needs for the data of a version, and for what it names in AWS.
// The version's number follows.
const (
	dataNeed  = "data of version "
	factsNeed = "facts of version "
)
