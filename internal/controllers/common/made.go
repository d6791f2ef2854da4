package common

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Made remembers the launch configs that this process made until the cache shows them: a pass that
// begins before that would make them again, which the API server refuses after most of the work of
// a write. The zero value is ready for use.
type Made struct{ last Memory[madeConfig] }

type madeConfig struct {
	config *infrav1.AWSLaunchConfig
	at     time.Time
}

// Note remembers a config that was made.
func (m *Made) Note(config *infrav1.AWSLaunchConfig, clk clock.PassiveClock) {
	m.last.Put(client.ObjectKeyFromObject(config), madeConfig{config: config.DeepCopy(), at: clk.Now()})
}

// Recent is the config that was made for a pool a moment ago, nil if none was.
func (m *Made) Recent(pool client.Object, clk clock.PassiveClock) *infrav1.AWSLaunchConfig {
	last, known := m.last.Get(client.ObjectKeyFromObject(pool))
	if !known || !metav1.IsControlledBy(last.config, pool) || clk.Since(last.at) >= unseenAtMost {
		return nil
	}
	return last.config.DeepCopy()
}

// Forget drops the config of a pool, which is seen, or is gone.
func (m *Made) Forget(pool client.ObjectKey) { m.last.Forget(pool) }
