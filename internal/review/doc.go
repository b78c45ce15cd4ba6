// Package review asks the API server who has a token and what a user may do, and bounds what strangers can have it asked. Words that
// are Ostinato's own are in docs/glossary.md.
package review
