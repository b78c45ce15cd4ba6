package k8s

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/names"
)

// maxCounted bounds CountedPods. The API server bounds all annotations of an object to
// 256 KiB, which is fewer UIDs.
const maxCounted = 10_000

// CountedPods returns the UIDs of the Pods that the Job's status counts and that may
// still carry the tracking finalizer (names.CountedAnnotation).
func CountedPods(job *batchv1.Job) []string {
	var uids []string
	for uid := range strings.SplitSeq(job.Annotations[names.CountedAnnotation], ",") {
		if uid = strings.TrimSpace(uid); uid == "" {
			continue
		}
		if len(uids) == maxCounted {
			break
		}
		uids = append(uids, uid)
	}
	return uids
}
