package temporalserver

import (
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// refusedMessage is what the server says of each call that the door refuses with an error, at the level of errors and with a stack.
const refusedMessage = "Authorization error"

// doorLog makes information of it: who is refused hears why, and could otherwise fill the log.
type doorLog struct{ log.Logger }

// Error implements log.Logger.
func (l doorLog) Error(message string, tags ...tag.Tag) {
	if message == refusedMessage {
		l.Info(message, tags...)
		return
	}
	l.Logger.Error(message, tags...)
}

// With implements log.WithLogger.
func (l doorLog) With(tags ...tag.Tag) log.Logger { return doorLog{log.With(l.Logger, tags...)} }
