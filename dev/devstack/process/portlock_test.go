package process

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// temporary makes a folder for temporary files in which a stranger may do something before FreePort comes, and returns
// the folder where FreePort keeps its locks.
func temporary(t *testing.T) (locks string) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	return filepath.Join(folder, fmt.Sprintf("ostinato-ports-%d", os.Getuid()))
}

// isRefused checks that there is no port, and that the error names the folder and says what to do.
func isRefused(t *testing.T, locks, why string) {
	t.Helper()
	port, err := FreePort()
	if err == nil {
		t.Fatalf("there is port %d", port)
	}
	for _, want := range []string{locks, why, "remove it, or set TMPDIR"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestTheFolderOfPortLocksIsForTheOwnerOnly(t *testing.T) {
	locks := temporary(t)
	if _, err := FreePort(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(locks)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("it has mode %s", info.Mode())
	}
	files, err := os.ReadDir(locks)
	if err != nil || len(files) != 1 {
		t.Fatalf("it holds %d files (%v), want one", len(files), err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("the lock has mode %s (%v)", info.Mode(), err)
	}
}

func TestAFolderOfPortLocksThatOthersMayReadIsClosed(t *testing.T) {
	locks := temporary(t)
	if err := os.Mkdir(locks, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := FreePort(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(locks); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it has mode %s (%v)", info.Mode(), err)
	}
}

func TestALinkIsNoFolderOfPortLocks(t *testing.T) {
	locks, victim := temporary(t), t.TempDir()
	if err := os.Symlink(victim, locks); err != nil {
		t.Fatal(err)
	}
	isRefused(t, locks, "it is no folder")
	if files, err := os.ReadDir(victim); err != nil || len(files) > 0 {
		t.Errorf("where the link leads there are %d files (%v)", len(files), err)
	}
}

func TestAFileIsNoFolderOfPortLocks(t *testing.T) {
	locks := temporary(t)
	if err := os.WriteFile(locks, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	isRefused(t, locks, "it is no folder")
}

func TestAFolderInWhichOthersWriteHoldsNoPortLocks(t *testing.T) {
	for _, mode := range []fs.FileMode{0o770, 0o702, 0o777} {
		locks := temporary(t)
		if err := os.Mkdir(locks, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(locks, mode); err != nil {
			t.Fatal(err)
		}
		isRefused(t, locks, "others may write in it")
	}
}

// A link that was planted under a port's name makes no file elsewhere.
func TestNoLockOfAPortFollowsALink(t *testing.T) {
	folder, victim := temporary(t), filepath.Join(t.TempDir(), "nologin")
	locks, err := portLocks()
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	if err := os.Symlink(victim, filepath.Join(folder, strconv.Itoa(firstPort))); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := lockPort(locks, firstPort); ok || err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("got %t, %v", ok, err)
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the file that the link names was made")
	}
}

func TestNoLockFollowsALink(t *testing.T) {
	folder := t.TempDir()
	path, victim := filepath.Join(folder, "lock"), filepath.Join(folder, "nologin")
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := TryLock(path); ok || err == nil || !strings.Contains(err.Error(), path+": it is a symbolic link") {
		t.Errorf("got %t, %v", ok, err)
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the file that the link names was made")
	}
}

// info is what the system says of a file.
type info struct {
	mode  fs.FileMode
	owner uint32
}

func (info) Name() string        { return "locks" }
func (info) Size() int64         { return 0 }
func (i info) Mode() fs.FileMode { return i.mode }
func (info) ModTime() time.Time  { return time.Time{} }
func (i info) IsDir() bool       { return i.mode.IsDir() }
func (i info) Sys() any          { return &syscall.Stat_t{Uid: i.owner} }

func TestWhoseFolderHoldsPortLocks(t *testing.T) {
	const we, stranger = 1000, 1001
	for name, test := range map[string]struct {
		info info
		want string
	}{
		"ours alone":                {info{fs.ModeDir | 0o700, we}, ""},
		"others may read":           {info{fs.ModeDir | 0o755, we}, ""},
		"the group may write":       {info{fs.ModeDir | 0o720, we}, "others may write in it"},
		"all may write":             {info{fs.ModeDir | fs.ModeSticky | 0o777, we}, "others may write in it"},
		"a stranger's":              {info{fs.ModeDir | 0o700, stranger}, "it belongs to the user with ID 1001"},
		"root's":                    {info{fs.ModeDir | 0o700, 0}, "it belongs to the user with ID 0"},
		"a link of ours":            {info{fs.ModeSymlink | 0o777, we}, "it is no folder"},
		"a stranger's, open to all": {info{fs.ModeDir | 0o777, stranger}, "it belongs to the user with ID 1001"},
	} {
		err := judgeFolder(test.info, we)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
