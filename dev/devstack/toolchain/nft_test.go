package toolchain

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMissingNftIsSaidPlainly(t *testing.T) {
	t.Setenv("OSTINATO_CACHE", t.TempDir())
	t.Setenv("PATH", "")
	if possible, missing := CanHaveNft(); possible || !strings.Contains(missing, "install nftables") {
		t.Errorf("got %t, %q, want it to say what to install", possible, missing)
	}
}

func TestTheSystemsProgramIsTaken(t *testing.T) {
	system, target := filepath.Join(t.TempDir(), "nft"), filepath.Join(t.TempDir(), "bin", "nft")
	executable(t, system)
	t.Setenv("PATH", filepath.Dir(system))
	if err := fetchProgram(t.Context(), io.Discard, "nft", "nftables", target); err != nil {
		t.Fatal(err)
	}
	if path, err := filepath.EvalSymlinks(target); err != nil || path != system {
		t.Errorf("the program is %s, %v, want %s", path, err, system)
	}
}

// A node shows the folder of its programs at another path.
func TestAnUnpackedProgramIsStartedWhereverItsFolderIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	program, libraries := filepath.Join(dir, "root", "usr", "sbin", "nft"), filepath.Join(dir, "root", "usr", "lib", "x86_64-linux-gnu")
	for _, folder := range []string{filepath.Dir(program), libraries} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "nft")
	for path, text := range map[string]string{program: "#!/bin/sh\necho \"$LD_LIBRARY_PATH: $*\"\n", script: unpackedScript("nft")} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	output, err := exec.Command(script, "list", "ruleset").Output()
	if want := libraries + ": list ruleset\n"; err != nil || string(output) != want {
		t.Errorf("got %q, %v, want %q", output, err, want)
	}
}
