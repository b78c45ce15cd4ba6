//go:build linux

package doors

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listener is a socket of a process on which it waits for others.
type listener struct {
	pid     int
	program string
	// role is the flag or the variable that gives the port, or says what the process is; "" where there is none.
	role string
	// network is tcp, udp, unix (a path) or abstract (a name without a file, so without permissions).
	network string
	// address is where a client of this machine reaches it.
	address string
}

// door is the listener's name in the table.
func (l listener) door() string { return strings.TrimSpace(l.program + " " + l.role) }

// States of sockets in /proc/net: one that listens, and a UDP socket that takes packets from everybody.
const tcpListens, udpIsOpen = "0A", "07"

// acceptsConnections marks a UNIX socket that listens.
const acceptsConnections = 0x10000

// listeners returns every socket on which this process or one of its descendants waits for others where a process of this
// machine reaches it, by process: an address in this network, or a path, which leads into every network.
func listeners(t *testing.T) []listener {
	t.Helper()
	owners, networks := map[string]int{}, map[string]int{}
	for _, pid := range descendants(t) {
		if network, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil {
			networks[network] = pid
		}
		for _, inode := range socketsOf(pid) {
			if _, known := owners[inode]; !known {
				owners[inode] = pid
			}
		}
	}
	var found []listener
	for _, table := range []struct{ file, network, state string }{
		{"tcp", "tcp", tcpListens}, {"tcp6", "tcp", tcpListens}, {"udp", "udp", udpIsOpen}, {"udp6", "udp", udpIsOpen},
	} {
		for _, fields := range rows(t, os.Getpid(), table.file, 10) {
			if pid, ours := owners[fields[9]]; ours && fields[3] == table.state {
				address := reachable(t, fields[1])
				found = append(found, describe(t, listener{pid: pid, network: table.network, address: address.String()}, int(address.Port())))
			}
		}
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for name, member := range networks {
		for _, fields := range rows(t, member, "unix", 8) {
			flags, err := strconv.ParseUint(fields[3], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			pid, ours := owners[fields[6]]
			if !ours || flags&acceptsConnections == 0 {
				continue
			}
			network := "unix"
			if strings.HasPrefix(fields[7], "@") {
				if name != own {
					continue // it is known by its name in that network alone
				}
				network = "abstract"
			}
			found = append(found, describe(t, listener{pid: pid, network: network, address: fields[7]}, 0))
		}
	}
	slices.SortFunc(found, func(a, b listener) int { return strings.Compare(a.door()+a.address, b.door()+b.address) })
	return found
}

// descendants returns this process and all that it has started, directly and indirectly, in the order of their IDs.
func descendants(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may hold anything.
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if parents[pid], err = strconv.Atoi(fields[1]); err != nil {
			t.Fatal(err)
		}
	}
	var all []int
	for pid := range parents {
		for ancestor := pid; ancestor > 1; ancestor = parents[ancestor] {
			if ancestor == os.Getpid() {
				all = append(all, pid)
				break
			}
		}
	}
	slices.Sort(all)
	return all
}

var socketLink = regexp.MustCompile(`^socket:\[(\d+)\]$`)

// socketsOf returns the inodes of a process's sockets.
func socketsOf(pid int) (inodes []string) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // it has ended
	}
	for _, entry := range entries {
		link, err := os.Readlink(filepath.Join(folder, entry.Name()))
		if err != nil {
			continue
		}
		if match := socketLink.FindStringSubmatch(link); match != nil {
			inodes = append(inodes, match[1])
		}
	}
	return inodes
}

// rows reads a table of the network of a process, without its header and rows that have fewer fields: UNIX sockets without a
// name. A process that has ended has none.
func rows(t *testing.T, pid int, table string, fields int) (all [][]string) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines[1:] {
		if row := strings.Fields(line); len(row) >= fields {
			all = append(all, row)
		}
	}
	return all
}

// reachable reads an address of /proc/net and returns where a client of this machine finds it.
func reachable(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(host)
	if err != nil {
		t.Fatal(err)
	}
	// Words of four bytes, each in the order of the machine.
	for word := range slices.Chunk(data, 4) {
		slices.Reverse(word)
	}
	address, ok := netip.AddrFromSlice(data)
	if !ok {
		t.Fatalf("%s is no address", text)
	}
	address = address.Unmap()
	if address.IsUnspecified() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(address, uint16(number))
}

// describe adds the program and the role of a listener.
func describe(t *testing.T, l listener, port int) listener {
	t.Helper()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", l.pid))
	if err != nil {
		t.Fatal(err)
	}
	l.program = filepath.Base(path)
	var settings []string
	for _, file := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", l.pid, file))
		if err != nil {
			t.Fatal(err)
		}
		settings = append(settings, strings.Split(string(data), "\x00")...)
	}
	named := regexp.MustCompile(fmt.Sprintf(`^(\S+?)=(.*:)?%d$`, port))
	role := regexp.MustCompile(`^--role=\w+$`)
	for _, setting := range settings {
		if match := named.FindStringSubmatch(setting); port != 0 && match != nil {
			l.role = match[1]
			return l
		}
		if role.MatchString(setting) {
			l.role = setting
		}
	}
	return l
}
