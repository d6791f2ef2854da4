package packing

import "testing"

// TestQuantities holds how amounts are written in reasons.
func TestQuantities(t *testing.T) {
	t.Parallel()
	x := newResourceIndex(&Problem{})
	x.add("nvidia.com/gpu")
	x.add(AttachableVolumes(EBSDriver))
	for _, row := range []struct {
		place  int
		amount int64
		want   string
	}{
		{cpu, 1500, "1.5 CPU"}, {cpu, 1_000_000, "1000 CPU"}, {cpu, 63_920, "63.92 CPU"}, {cpu, 100_000, "100 CPU"},
		{memory, 15_891_378_995, "15.9 GB of memory"}, {memory, 574_829_363, "574.8 MB of memory"}, {memory, 16 << 30, "17.2 GB (16Gi) of memory"},
		{memory, 999_999_999, "1 GB of memory"}, {memory, 512, "512 bytes of memory"}, {memory, 3_000_000_000_000, "3 TB of memory"},
		{storage, 20 << 30, "21.5 GB (20Gi) of ephemeral storage"},
		{pods, 29, "29 pods"}, {storage + 1, 2, "2 nvidia.com/gpu"}, {storage + 2, 30, "30 volumes of ebs.csi.aws.com"},
	} {
		if got := x.quantity(row.place, row.amount); got != row.want {
			t.Errorf("%d is %q, want %q", row.amount, got, row.want)
		}
	}
}
