// Package postgres keeps what a Temporal server knows in a PostgreSQL server of the user's.
//
// There are two databases, as the Temporal server wants it: the one that the user names, and one for visibility beside it. Their
// tables are made, and led from one version to the next, before the server starts.
package postgres
