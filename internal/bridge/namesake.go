package bridge

import (
	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// namesakeChanged queues our CronJob of the name, if there is one.
func (c *controller) namesakeChanged(native *ostinatov1.CronJob) {
	item := keyOf(cronJobKind, native)
	if c.objects.cronJob(item) != nil {
		c.main.Add(item)
	}
}
