package names

import "testing"

func TestPodWatchWorkflowIDs(t *testing.T) {
	for _, test := range []struct {
		name, id      string
		cluster       Cluster
		shard, shards int
		ok            bool
	}{
		{name: "the only shard", id: "podwatch/0-of-1", shards: 1, ok: true},
		{name: "one of many", id: "podwatch/11-of-16", shard: 11, shards: 16, ok: true},
		{name: "of a named cluster", cluster: "east", id: "east/podwatch/2-of-4", shard: 2, shards: 4, ok: true},
		{name: "of a cluster with another name", id: "east/podwatch/2-of-4"},
		{name: "of the cluster without a name", cluster: "east", id: "podwatch/2-of-4"},
		{name: "of a cluster that is named so", id: "podwatch/podwatch/0-of-1"},
		{name: "another workflow", id: "job/podwatch/0-of-1"},
		{name: "no numbers", id: "podwatch/a-of-b"},
		{name: "one number", id: "podwatch/1"},
		{name: "written otherwise", id: "podwatch/01-of-16"},
		{name: "something behind", id: "podwatch/0-of-1/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			shard, shards, ok := test.cluster.ParsePodWatchWorkflowID(test.id)
			if ok != test.ok || ok && (shard != test.shard || shards != test.shards) {
				t.Errorf("%q is shard %d of %d, %t", test.id, shard, shards, ok)
			}
		})
	}
}
