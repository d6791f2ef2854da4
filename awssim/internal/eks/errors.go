package eks

import (
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Codes and statuses of errors (SDK types/errors.go, and its schemas).
const (
	codeInvalidParameter = "InvalidParameterException"
	codeInvalidRequest   = "InvalidRequestException"
	codeInUse            = "ResourceInUseException"
	codeNotFound         = "ResourceNotFoundException"
	codeLimitExceeded    = "ResourceLimitExceededException"
)

func invalid(format string, args ...any) *sim.Error {
	return sim.Errorf(codeInvalidParameter, format, args...)
}

func badRequest(format string, args ...any) *sim.Error {
	return sim.Errorf(codeInvalidRequest, format, args...)
}

func inUse(format string, args ...any) *sim.Error {
	return sim.Errorf(codeInUse, format, args...).WithStatus(http.StatusConflict)
}

// The wording of both is from many reports.

func clusterNotFound(name string) *sim.Error {
	return sim.Errorf(codeNotFound, "No cluster found for name: %s.", name).WithStatus(http.StatusNotFound)
}

func groupNotFound(name string) *sim.Error {
	return sim.Errorf(codeNotFound, "No node group found for name: %s.", name).WithStatus(http.StatusNotFound)
}
