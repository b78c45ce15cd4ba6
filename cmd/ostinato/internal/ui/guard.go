package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
)

const (
	// cookieName is that of the cookie, keyHeader the header that has the page's key.
	cookieName = "ostinato"
	keyHeader  = "X-Ostinato-Page"
	// tokenParameter is where the address has the token.
	tokenParameter = "token"
)

// guard lets through what the person who has the address asks, and nothing else.
type guard struct {
	// hosts are what a browser calls this server. One that calls it otherwise was led here by a foreign name (DNS rebinding).
	hosts []string
	// token is in the address, and is good for one exchange for the cookie and the key.
	token, cookie, key string
	used               atomic.Bool
}

func newGuard(hosts []string) *guard {
	return &guard{hosts: hosts, token: secret(), cookie: secret(), key: secret()}
}

// url is the address of a host with the token.
func (g *guard) url(host string) string {
	address := url.URL{Scheme: "http", Host: host, Path: "/", RawQuery: url.Values{tokenParameter: {g.token}}.Encode()}
	return address.String()
}

// secret is a text that can't be guessed.
func secret() string {
	random := make([]byte, 32)
	rand.Read(random) // it never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

// policy allows the page its own script, style and picture, and requests to this server. No page may hold it in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ostinato"

// headers are on every answer. There is none that lets other origins read it.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
}

// open serves what needs the cookie only, data what needs the key too, and welcome the answer to the token.
func (g *guard) wrap(open, data, welcome http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		for name, value := range headers {
			writer.Header().Set(name, value)
		}
		_, shell := shellPaths[request.URL.Path]
		switch {
		case !g.admits(writer, request, welcome):
		case shell:
			open.ServeHTTP(writer, request)
		case !same(request.Header.Get(keyHeader), g.key):
			refuse(writer)
		default:
			data.ServeHTTP(writer, request)
		}
	})
}

// admits reports whether a request has the cookie and comes from the page. It refuses any other request, and exchanges the token for the
// cookie.
func (g *guard) admits(writer http.ResponseWriter, request *http.Request, welcome http.Handler) bool {
	switch {
	case !slices.Contains(g.hosts, request.Host), !g.sameOrigin(request):
		refuse(writer)
	case request.Method == http.MethodGet && request.URL.Path == "/" && request.URL.Query().Has(tokenParameter) && !g.has(request):
		if !same(request.URL.Query().Get(tokenParameter), g.token) || !g.used.CompareAndSwap(false, true) {
			refuse(writer)
			return false
		}
		http.SetCookie(writer, &http.Cookie{Name: cookieName, Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		welcome.ServeHTTP(writer, request)
	case !g.has(request):
		refuse(writer)
	default:
		return true
	}
	return false
}

// has reports whether the request has the cookie.
func (g *guard) has(request *http.Request) bool {
	cookie, err := request.Cookie(cookieName)
	return err == nil && same(cookie.Value, g.cookie)
}

// sameOrigin reports whether the request comes from the page itself. A browser names the origin of whatever changes
// something, and says where other requests come from; only to open the page a person may come from elsewhere.
func (g *guard) sameOrigin(request *http.Request) bool {
	origin, site := request.Header.Get("Origin"), request.Header.Get("Sec-Fetch-Site")
	switch {
	case origin != "" && origin != "http://"+request.Host, origin == "" && request.Method != http.MethodGet:
		return false
	case site == "", site == "same-origin", site == "none":
		return true
	}
	return request.Method == http.MethodGet && request.URL.Path == "/" && request.Header.Get("Sec-Fetch-Mode") == "navigate"
}

func same(given, wanted string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(wanted)) == 1
}

// refuse tells the client nothing.
func refuse(writer http.ResponseWriter) { http.Error(writer, "Forbidden", http.StatusForbidden) }
