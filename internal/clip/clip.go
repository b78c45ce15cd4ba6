// Package clip bounds texts that come from elsewhere.
package clip

import "strings"

// maxMessage bounds a message, in bytes.
const maxMessage = 256

// Message returns a message within 256 bytes.
func Message(message string) string { return Text(message, maxMessage) }

// Text returns a text within a limit of bytes, with dots at the end if it was cut. What is cut does not keep the whole in memory.
func Text(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
