package provisionerstatus_test

import (
	"testing"

	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { provisioningtest.Main(m) }
