// Package ui serves the page of `ostinato ui` to the browser of the person who has started it, on loopback, with the person's
// own rights. Package page decides what is shown.
//
// Other users of the machine can reach the address, and so can pages of other origins through the person's browser. So each
// request has to show three things (guard.go): the Host is the address itself, the cookie is that for which the first request
// has exchanged the token of the address, and, where there is something to read or to do, a header has the key that only the
// page's own script knows. The cookie alone would not do: browsers send it to every port of the machine.
//
// docs/glossary.md has the words.
package ui
