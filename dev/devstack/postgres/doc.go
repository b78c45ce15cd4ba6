// Package postgres runs a PostgreSQL server of its own on the loopback address, from what the machine has installed, in
// a folder of its own. The system's own PostgreSQL, its clusters and its configuration are not touched.
//
// PostgreSQL refuses to run as root: a parent that is root runs it as an ordinary user.
package postgres
