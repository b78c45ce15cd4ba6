package answer

import (
	"strings"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// NotTakenBack says why a resume leaves a CronJob suspended; empty where it does not. A CronJob that was named is
// resumed no matter who has suspended it, unless a reason is given. Of many, it takes back only the person's own
// suspensions.
func NotTakenBack(cronJob *ostinatov1.CronJob, by, why string, named bool) string {
	if named && why == "" {
		return ""
	}
	refused, _, _ := strings.Cut(k8s.SuspenderOf(cronJob, false).Refuses(by, why), ": send ")
	return refused
}
