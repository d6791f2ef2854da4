package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// update is one update of a group.
type update struct{ view *types.Update }

// rollout is an update that replaces nodes, under way.
type rollout struct{}

func (s *service) stepUpdate(*group) {}

func (s *service) updateDeadlines(*group, func(time.Time)) {}
