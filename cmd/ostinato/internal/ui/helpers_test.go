package ui_test

import (
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

func escaped(text string) string { return url.QueryEscape(text) }

// stalled is a condition that keeps runs from starting.
func stalled(message string) metav1.Condition {
	return metav1.Condition{Type: ostinatov1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "TemplateInvalid", Message: message}
}
