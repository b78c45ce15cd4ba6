package ui

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// openers are the programs that show a file in the person's browser.
var openers = map[string]string{"linux": "xdg-open", "freebsd": "xdg-open", "darwin": "open"}

// Open shows an address in the person's browser, and returns what takes its traces away. The address goes through a
// file that no other user can read, since everyone on the machine can read the arguments of a process.
func Open(address string) (remove func(), err error) {
	program, found := openers[runtime.GOOS]
	if !found {
		return func() {}, fmt.Errorf("no program is known that opens a browser on %s", runtime.GOOS)
	}
	file, err := leadTo(address)
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.Remove(file) } // there is nothing to do about one that stays: its address is good once
	opener := exec.Command(program, file)   // a browser that it starts outlives the page
	detach(opener)
	if err := opener.Start(); err != nil {
		return remove, fmt.Errorf("open a browser: %w", err)
	}
	go func() { _ = opener.Wait() }() // it may last as long as the browser, and has nothing to say
	return remove, nil
}

// leadTo writes a file for the person alone that leads a browser to an address.
func leadTo(address string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the browser's file: %w", err)
	}
	folder := filepath.Join(cache, "ostinato")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for the browser's file: %w", err)
	}
	file, err := os.CreateTemp(folder, "page-*.html") // of mode 0600
	if err != nil {
		return "", fmt.Errorf("make the browser's file: %w", err)
	}
	defer file.Close()
	escaped := html.EscapeString(address)
	if _, err := fmt.Fprintf(file, "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0; url=%s\"><a href=\"%s\">Open the page</a>\n", escaped, escaped); err != nil {
		return "", fmt.Errorf("write the browser's file: %w", err)
	}
	return file.Name(), nil
}
