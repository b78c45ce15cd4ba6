// Package commands holds the commands of the ostinato program, one file each: what they take, what they read, and which
// answer they print. docs/glossary.md has the words.
package commands
