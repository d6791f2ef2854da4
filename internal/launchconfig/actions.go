package launchconfig

import (
	"fmt"
	"strings"

	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// The actions for an AWSLaunchConfig. Each action holds everything that it requests from AWS.
type (
	// createTemplate creates the launch template with its first version.
	createTemplate struct {
		reconcile.Creates
		launchtemplate.CreateTemplate
		// Why is the reason of the version.
		Why string
	}
	// createVersion creates a version. A version that is created next to the wanted one does not
	// become the default.
	createVersion struct {
		launchtemplate.CreateVersion
		Why string
		// Waits is true of a version that waits for approval.
		Waits bool
	}
	// setDefault makes a version the default. Given is true if it was the default before, and the
	// default was changed outside Slipway. Otherwise, Why is the reason for the version.
	setDefault struct {
		launchtemplate.SetDefault
		Given bool
		Why   string
	}
	// setTags sets tags of the template. Given is true if they were set before, and were changed
	// outside Slipway.
	setTags struct {
		launchtemplate.SetTags
		Given bool
	}
	removeTags struct{ launchtemplate.RemoveTags }
	// storeBootstrap puts bootstrap data where user data points to. Known is true if it is known to
	// belong to the config. Told is true if an event reports it.
	storeBootstrap struct {
		reconcile.Creates
		Item        bootstrapstorage.Item
		Known, Told bool
	}
	// dryRun asks EC2 whether it would launch an instance from a version.
	dryRun struct {
		TemplateID string
		Number     int64
		Input      launchtemplate.Input
	}
	// prune deletes versions.
	prune struct {
		TemplateID string
		Numbers    []int64
	}
	// sweepStorage deletes bootstrap data in a place, but that to keep. Also is what reads may not show yet.
	sweepStorage struct {
		Place      bootstrapstorage.Place
		Owner      string
		Keep, Also []bootstrapstorage.Location
		Tell       bool
	}
	// releaseVersion creates a version in the form of Cluster API Provider AWS.
	releaseVersion struct {
		TemplateID, Owner string
		Input             launchtemplate.Input
	}
	// disownTemplate removes Slipway's tags from the template.
	disownTemplate struct {
		Owner    string
		Template launchtemplate.Template
	}
	// deleteTemplate deletes the template with all its versions.
	deleteTemplate struct {
		Owner    string
		Template launchtemplate.Template
	}
)

func (a storeBootstrap) String() string {
	return "write bootstrap data to " + a.Item.Location.URL(a.Item.Owner)
}

func (a dryRun) String() string {
	return fmt.Sprintf("try version %d of launch template %s", a.Number, a.TemplateID)
}

func (a prune) String() string {
	var numbers []string
	for _, number := range a.Numbers {
		numbers = append(numbers, fmt.Sprint(number))
	}
	return fmt.Sprintf("delete versions %s of launch template %s", strings.Join(numbers, ", "), a.TemplateID)
}

func (a sweepStorage) String() string {
	return "delete bootstrap data in " + a.Place.String()
}

func (a releaseVersion) String() string {
	return fmt.Sprintf("create a version of launch template %s as Cluster API Provider AWS has it", a.TemplateID)
}

func (a disownTemplate) String() string {
	return fmt.Sprintf("leave launch template %s to Cluster API Provider AWS", a.Template.ID)
}

func (a deleteTemplate) String() string { return "delete launch template " + a.Template.ID }
