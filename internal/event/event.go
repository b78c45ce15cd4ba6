// Package event holds the plain-data form of a Kubernetes Event, so that the
// decision cores can ask for one without a recorder.
package event

// Event asks for one Kubernetes Event on the object that is being reconciled.
// Reasons and messages are upstream's where the meaning is the same (parity 1.9
// and 2.16).
type Event struct {
	// Type is Normal or Warning (k8s.io/api/core/v1 EventTypeNormal, EventTypeWarning).
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Normal returns an Event of type Normal.
func Normal(reason, message string) Event {
	return Event{Type: "Normal", Reason: reason, Message: message}
}

// Warning returns an Event of type Warning.
func Warning(reason, message string) Event {
	return Event{Type: "Warning", Reason: reason, Message: message}
}
