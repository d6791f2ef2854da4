package autoscalinggroup

import "testing"

func TestWarmSurplus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		group  Group
		want   int32
	}{
		{reason: "no warm pool"},
		{reason: "the size that is prepared", group: Group{Capacity: 2, MaxSize: 10, WarmPoolSize: 2, WarmPool: &WarmPool{Prepared: 4}}},
		{reason: "one more", group: Group{Capacity: 2, MaxSize: 10, WarmPoolSize: 3, WarmPool: &WarmPool{Prepared: 4}}, want: 1},
		{reason: "the group's max size prepares", group: Group{Capacity: 2, MaxSize: 10, WarmPoolSize: 8, WarmPool: &WarmPool{Prepared: noPreparedCapacity}}},
		{reason: "the min size holds", group: Group{Capacity: 4, MaxSize: 10, WarmPoolSize: 2, WarmPool: &WarmPool{MinSize: 2, Prepared: 4}}},
		{reason: "more than all in the group", group: Group{Capacity: 6, MaxSize: 10, WarmPoolSize: 1, WarmPool: &WarmPool{Prepared: 4}}, want: 1},
		{reason: "it is being deleted", group: Group{WarmPoolSize: 2, WarmPoolDeleting: true, WarmPool: &WarmPool{MinSize: 2}}, want: 2},
	} {
		if got := row.group.WarmSurplus(); got != row.want {
			t.Errorf("%s: %d, want %d", row.reason, got, row.want)
		}
	}
}
