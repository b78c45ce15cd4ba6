package activities_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
)

// Temporal tells the sender of a signal nothing: an Event on the object does.
func TestAnEventAnswersSuspendAndResume(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*protocol.SetSuspendRequest)
		want   string
	}{
		{"no argument", func(*protocol.SetSuspendRequest) {}, "Normal SignalTaken Signal suspend was taken"},
		{"a note and a sender", func(request *protocol.SetSuspendRequest) {
			request.Suspend, request.Note = false, protocol.SignalNote{Note: "maintenance is over", By: "ada"}
		}, "Normal SignalTaken Signal resume was taken from ada (claimed): maintenance is over"},
		{"others that it takes the place of", func(request *protocol.SetSuspendRequest) {
			request.Superseded, request.Note = 190, protocol.SignalNote{Note: "enough"}
		}, "Normal SignalTaken Signal suspend was taken in place of 190 before it: enough"},
		{"an argument that can't be read", func(request *protocol.SetSuspendRequest) { request.Unread = "it is not text" },
			`Warning SignalArgumentUnread Signal suspend was taken without its argument: it is not text; want text, or JSON such as {"note": "maintenance", "by": "ada"}`},
		{"an argument that can be read in part", func(request *protocol.SetSuspendRequest) {
			request.Unread, request.Note = `there is no field "args"; use note, by, reason`, protocol.SignalNote{By: "ada"}
		}, `Warning SignalArgumentUnread Signal suspend was taken from ada (claimed) without a part of its argument: there is no field "args"; use note, by, reason; want text, or JSON such as {"note": "maintenance", "by": "ada"}`},
	} {
		for kind, object := range map[string]protocol.ObjectReference{protocol.CronJobKind: cronJobRef, protocol.JobKind: jobRef} {
			t.Run(kind+", "+test.name, func(t *testing.T) {
				s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
				request := protocol.SetSuspendRequest{Kind: kind, Object: object, Wish: protocol.Wish{Suspend: true, At: scheduled}}
				test.change(&request)
				must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
				if recorded := s.recorded(); !slices.Equal(recorded, []string{test.want}) {
					t.Errorf("Events %q, want %q", recorded, test.want)
				}
			})
		}
	}
}
