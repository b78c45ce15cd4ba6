package harness

import "os"

// Trial reports whether attacks have the size of a trial, ten times that of `make test`, where etcd's quota of 2 GiB and the
// machine hold it.
func Trial() bool { return os.Getenv("OSTINATO_TRIAL") != "" }

// Size returns a number of an attack's objects or messages: as many as it says, or in a trial ten times as many.
func Size(count int) int {
	if Trial() {
		return 10 * count
	}
	return count
}
