// Package doors starts the development stack and tries every port and socket of it as a stranger: another user of the
// machine, without any right, who also sends what a web page in a browser may send.
//
// No port lets a stranger read or write an object, a Secret, a log or a container. The table in table_test.go names every
// port and says why it answers what it answers. A port that is not in it fails the test.
package doors
