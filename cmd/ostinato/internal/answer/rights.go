package answer

import (
	"fmt"
	"strings"
)

// Lacking is a right that the person does not have, and the commands that need it.
type Lacking struct{ Right, Commands string }

// HealthLimited is what the rights are of a person who may not use every command. That is nothing wrong.
const HealthLimited = "Limited"

// Rights says what a person may not do in a namespace, or in all where it is empty. unread says why that is not known.
func Rights(namespace string, lacking []Lacking, unread string) Health {
	const part = "rights"
	if unread != "" {
		return unseen(part, unread)
	}
	place := "in namespace " + namespace
	if namespace == "" {
		place = "in all namespaces"
	}
	if len(lacking) == 0 {
		return Health{part, HealthOK, "you may use every command " + place}
	}
	var each []string
	for _, one := range lacking {
		each = append(each, fmt.Sprintf("%s (%s)", one.Right, one.Commands))
	}
	return Health{part, HealthLimited, "you may not, " + place + ": " + strings.Join(each, ", ")}
}
