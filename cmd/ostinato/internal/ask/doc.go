// Package ask reads and writes what the ostinato command is asked for: objects of the API server, with the person's own
// rights, and workflows in Temporal where the objects do not say enough. docs/glossary.md has the words.
package ask
