package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// patience bounds a call of the browser, and what a page takes to become what a test wants.
const patience = 2 * time.Minute

// browser is a headless Chromium that is driven through its DevTools protocol, over two pipes.
type browser struct {
	t       *testing.T
	session string
	send    *os.File

	mutex   sync.Mutex
	last    int
	waiting map[int]chan message
	events  []message
	ended   error
}

// message is a call, its answer, or an event.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *failure        `json:"error,omitempty"`
}

// failure is why a call did not work.
type failure struct{ Message string }

// newBrowser starts a browser with one page. Without one to start, CI fails and other machines leave the test out.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no chromium: .ci/run installs Debian's")
		}
		t.Skip("no chromium on PATH: apt-get install chromium")
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// A container that builds has no user namespaces for the sandbox, and this browser sees the test's page alone.
	chromium := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "about:blank")
	chromium.ExtraFiles = []*os.File{theirs, answer} // descriptors 3 and 4
	chromium.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	chromium.Stderr = &said
	if err := chromium.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	answer.Close()
	b := &browser{t: t, send: ours, waiting: map[int]chan message{}}
	go b.listen(answers)
	t.Cleanup(func() {
		kill := time.AfterFunc(patience, func() { _ = chromium.Process.Kill() }) // one that does not end by itself
		defer kill.Stop()
		b.session = ""
		_, _ = b.call("Browser.close", nil) // it may end without an answer
		ours.Close()
		if err := chromium.Wait(); err != nil && t.Failed() {
			t.Logf("chromium: %v\n%s", err, said.String())
		}
	})
	var target struct{ TargetID string }
	b.must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.must(domain+".enable", nil, nil)
	}
	return b
}

// run runs a part of the test.
func (b *browser) run(name string, part func(t *testing.T)) {
	whole := b.t
	defer func() { b.t = whole }()
	whole.Run(name, func(t *testing.T) {
		b.t = t
		part(t)
	})
}

// listen hands out answers, and keeps events.
func (b *browser) listen(answers *os.File) {
	defer answers.Close()
	reader := bufio.NewReader(answers)
	for {
		text, err := reader.ReadBytes(0)
		if err != nil {
			b.mutex.Lock()
			defer b.mutex.Unlock()
			b.ended = fmt.Errorf("the browser has ended: %w", err)
			for _, waits := range b.waiting {
				close(waits)
			}
			clear(b.waiting)
			return
		}
		var got message
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &got); err != nil {
			continue
		}
		b.mutex.Lock()
		if waits, found := b.waiting[got.ID]; found {
			waits <- got
			delete(b.waiting, got.ID)
		} else {
			b.events = append(b.events, got)
		}
		b.mutex.Unlock()
	}
}

// call sends a command and waits for the answer.
func (b *browser) call(method string, params any) (json.RawMessage, error) {
	given, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if params == nil {
		given = nil
	}
	b.mutex.Lock()
	b.last++
	id, waits := b.last, make(chan message, 1)
	b.waiting[id] = waits
	ended := b.ended
	b.mutex.Unlock()
	if ended != nil {
		return nil, ended
	}
	text, err := json.Marshal(message{ID: id, SessionID: b.session, Method: method, Params: given})
	if err != nil {
		return nil, err
	}
	if _, err := b.send.Write(append(text, 0)); err != nil {
		return nil, err
	}
	select {
	case got, open := <-waits:
		switch {
		case !open:
			return nil, errors.New("the browser has ended")
		case got.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, got.Error.Message)
		}
		return got.Result, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: no answer within %s", method, patience)
	}
}

// must is a call that may not fail.
func (b *browser) must(method string, params, result any) {
	b.t.Helper()
	answer, err := b.call(method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(answer, result)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// eval returns what an expression of JavaScript is, as JSON has it.
func (b *browser) eval(expression string) (any, error) {
	answer, err := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if err != nil {
		return nil, err
	}
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	if got.ExceptionDetails != nil {
		return nil, fmt.Errorf("%s: %s %s", expression, got.ExceptionDetails.Text, got.ExceptionDetails.Exception.Description)
	}
	return got.Result.Value, nil
}

// is waits until an expression is what is wanted.
func (b *browser) is(want any, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		got, err := b.eval(expression)
		if err == nil && got == want {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("%s is %v (error %v), want %v", expression, got, err, want)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// number is what an expression is, now.
func (b *browser) number(expression string) int {
	b.t.Helper()
	got, err := b.eval(expression)
	number, isNumber := got.(float64)
	if err != nil || !isNumber {
		b.t.Fatalf("%s is %v: %v", expression, got, err)
	}
	return int(number)
}

// open leads the page to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	var result struct{ ErrorText string }
	if b.must("Page.navigate", map[string]any{"url": address}, &result); result.ErrorText != "" {
		b.t.Fatalf("open %s: %s", address, result.ErrorText)
	}
}

// press presses a key, such as ArrowDown, Enter or Escape.
func (b *browser) press(key string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "/": 191}
	params := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
	if key == "Enter" {
		params["text"] = "\r"
	}
	b.must("Input.dispatchKeyEvent", params, nil)
	b.must("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key]}, nil)
}

// scheme has the person prefer light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.must("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// size is that of the window.
func (b *browser) size(width, height int) {
	b.t.Helper()
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// picture is the page as a PNG.
func (b *browser) picture() []byte {
	b.t.Helper()
	var shot struct{ Data string }
	b.must("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// complaints are what the browser had to say: errors of scripts, breaches of the page's policy, dialogs.
func (b *browser) complaints() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var found []string
	for _, event := range b.events {
		if slices.Contains([]string{"Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening", "Runtime.consoleAPICalled"}, event.Method) {
			found = append(found, event.Method+" "+string(event.Params))
		}
	}
	return found
}
