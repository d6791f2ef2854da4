package eks

import (
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// update is one update. The value behind view is never changed.
type update struct {
	id   string
	view *types.Update
	// fails is the fault that makes the update fail at a time, nil for none.
	fails *sim.Fault
	at    time.Time
}

// updates holds the updates of clusters, node groups, and add-ons, as Describe actions show them.
type updates struct {
	kernel *sim.Kernel
	views  *sim.Table[*types.Update]
}

func newUpdates(k *sim.Kernel) *updates {
	return &updates{kernel: k, views: sim.NewTable[*types.Update](k)}
}

// create returns a new update, which is in progress. The caller adds it to the views.
func (us *updates) create(kind types.UpdateType, params []types.UpdateParam) *update {
	u := &update{id: us.kernel.NewUUID()}
	u.view = &types.Update{
		Id: ptr(u.id), Type: kind, Status: types.UpdateStatusInProgress, CreatedAt: ptr(us.kernel.Now()), Params: params, Errors: []types.ErrorDetail{},
	}
	return u
}

// due returns the fault that makes the update fail now, nil for none.
func (u *update) due(now time.Time) *sim.Fault {
	if u.fails == nil || now.Before(u.at) {
		return nil
	}
	return u.fails
}

// ended closes an update, and returns its view.
func (u *update) ended(errors ...types.ErrorDetail) *types.Update {
	view := shape.Clone(*u.view)
	view.Status = types.UpdateStatusSuccessful
	if len(errors) > 0 {
		view.Status, view.Errors = types.UpdateStatusFailed, errors
	}
	u.view = &view
	return u.view
}

// The keys of updates: a node group's name has no colon, which keeps the three kinds apart.

func (c *cluster) updateKey(id string) string { return c.Name + "/" + id }

func (g *group) updateKey(id string) string { return g.key() + "/" + id }

func (a *addon) updateKey(id string) string { return a.key() + "/" + id }

// updatable refuses updates of a group that is neither ACTIVE nor DEGRADED. The wording is from
// many reports. That a DEGRADED group can be updated is an inference.
func (g *group) updatable() error {
	if g.status == types.NodegroupStatusActive || g.status == types.NodegroupStatusDegraded {
		return nil
	}
	return inUse("Nodegroup cannot be updated as it is currently not in Active State")
}

// params collects what an update changes, as it is shown.
type params []types.UpdateParam

func (p *params) add(kind types.UpdateParamType, value string) {
	if value != "" {
		*p = append(*p, types.UpdateParam{Type: kind, Value: ptr(value)})
	}
}

func (p *params) number(kind types.UpdateParamType, value *int32) {
	if value != nil {
		p.add(kind, itoa(*value))
	}
}

func (p *params) object(kind types.UpdateParamType, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic("eks: a parameter of an update does not marshal: " + err.Error())
	}
	p.add(kind, string(text))
}
