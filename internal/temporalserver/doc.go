// Package temporalserver runs a whole Temporal server with its Web UI inside one process, for clusters that have no Temporal.
//
// It and the packages below it are the only ones of the product that import the Temporal server; neither worker nor bridge may
// depend on them. Package sqlite and package postgres keep the data. Words of Ostinato's own are in docs/glossary.md.
package temporalserver
