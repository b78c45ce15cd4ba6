package ui_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

// nothing asserts that a request got nothing of value.
func nothing(t *testing.T, got answered, whose string) {
	t.Helper()
	assert.Equal(t, http.StatusForbidden, got.status, whose)
	assert.Equal(t, "Forbidden\n", got.body, whose)
	assert.Empty(t, got.cookies, whose)
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"} {
		assert.NotContains(t, got.header, name, whose)
	}
}

// paths are all that the page serves.
var paths = []string{"/", "/script.js", "/style.css", "/icon.svg", "/rows", "/run", "/times", "/cronjob", "/nothing", "/favicon.ico"}

func TestTheTokenIsExchangedOnce(t *testing.T) {
	b := newPage(t, night.CronJobs(now, 1))
	for _, address := range []string{"/?token=", "/?token=x", "/?token=" + b.address[len(b.address)-5:], "/rows?" + b.address[len(b.server.URL)+2:]} {
		nothing(t, b.send(http.MethodGet, address, nil, nil), address)
	}
	nothing(t, b.send(http.MethodPost, b.address, url.Values{}, map[string]string{"Origin": b.server.URL}), "a POST of the token")
	b.open()
	nothing(t, b.send(http.MethodGet, b.address, nil, nil), "the second who has the address")
	again := b.send(http.MethodGet, b.address, nil, b.own())
	assert.Equal(t, http.StatusOK, again.status, "who has the cookie sees the page")
	assert.Empty(t, again.cookies)
	assert.NotContains(t, again.body, b.key)
}

func TestTheCookieIsOfThePageAlone(t *testing.T) {
	cookie := opened(t, night.CronJobs(now, 1)).cookie
	assert.True(t, cookie.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	assert.Equal(t, "/", cookie.Path)
	assert.Empty(t, cookie.Domain)
	assert.Zero(t, cookie.MaxAge, "it ends with the browser")
	assert.True(t, cookie.Expires.IsZero())
}

func TestWhoHasNoTokenGetsNothing(t *testing.T) {
	b := opened(t, night.CronJobs(now, 1))
	for _, path := range paths {
		nothing(t, b.send(http.MethodGet, path, nil, nil), "without a cookie: "+path)
		nothing(t, b.send(http.MethodGet, path, nil, map[string]string{"Cookie": "ostinato=x", "X-Ostinato-Page": "x"}), "with made-up secrets: "+path)
	}
	for _, path := range []string{"/plan", "/do"} {
		nothing(t, b.send(http.MethodPost, path, url.Values{"action": {"run"}}, map[string]string{"Origin": b.server.URL}), path)
	}
}

// Browsers send a cookie of 127.0.0.1 to every port of it, so another user's server may come to know it.
func TestTheCookieAloneReadsAndDoesNothing(t *testing.T) {
	b := opened(t, night.CronJobs(now, 1))
	only := map[string]string{"Cookie": b.cookie.Name + "=" + b.cookie.Value}
	for _, path := range []string{"/rows", "/run", "/times", "/cronjob", "/nothing"} {
		nothing(t, b.send(http.MethodGet, path, nil, only), path)
	}
	only["Origin"] = b.server.URL
	nothing(t, b.send(http.MethodPost, "/plan", url.Values{"action": {"run"}}, only), "/plan")
	shell := b.send(http.MethodGet, "/", nil, only)
	assert.Equal(t, http.StatusOK, shell.status)
	assert.NotContains(t, shell.body, "mail-0000", "the page itself says nothing of the cluster's objects")
}

func TestForeignNamesAndOriginsGetNothing(t *testing.T) {
	b := opened(t, night.CronJobs(now, 1))
	port := b.server.URL[len("http://127.0.0.1"):]
	for name, headers := range map[string]map[string]string{
		"a foreign name that leads here":      {"Host": "evil.example" + port, "Origin": "http://evil.example" + port},
		"a foreign name without an origin":    {"Host": "evil.example" + port, "Origin": ""},
		"the address without its port":        {"Host": "127.0.0.1"},
		"another port of this machine":        {"Origin": "http://127.0.0.1:1"},
		"a page of another origin":            {"Origin": "https://evil.example"},
		"a page of no origin":                 {"Origin": "null"},
		"the same name by https":              {"Origin": "https://127.0.0.1" + port},
		"a picture that another page loads":   {"Origin": "", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
		"a script that another port loads":    {"Origin": "", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
		"a frame or link of another page":     {"Origin": "", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
		"another name of loopback as a guess": {"Host": "[::1]" + port},
	} {
		all := b.own()
		for header, value := range headers {
			all[header] = value
			if value == "" {
				delete(all, header)
			}
		}
		nothing(t, b.send(http.MethodGet, "/rows", nil, all), name+": GET")
		nothing(t, b.send(http.MethodPost, "/plan", url.Values{"action": {"run"}}, all), name+": POST")
	}
	without := b.own()
	delete(without, "Origin")
	nothing(t, b.send(http.MethodPost, "/plan", url.Values{"action": {"run"}}, without), "a POST that names no origin")
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodOptions} {
		assert.GreaterOrEqual(t, b.send(method, "/rows", nil, b.own()).status, 400, method)
	}
}

// A person opens the address from a terminal's link, or from the file that ostinato ui gives to the browser.
func TestAPersonMayComeFromElsewhere(t *testing.T) {
	b := newPage(t, night.CronJobs(now, 1))
	from := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
	first := b.send(http.MethodGet, b.address, nil, from)
	assert.Equal(t, http.StatusOK, first.status)
	assert.Contains(t, first.body, "/script.js", "its own script goes on, since a redirect would not carry the cookie")
}

func TestLocalhostIsANameOfThePage(t *testing.T) {
	b := opened(t, night.CronJobs(now, 1))
	headers := b.own()
	headers["Host"] = "localhost" + b.server.URL[len("http://127.0.0.1"):]
	headers["Origin"] = "http://" + headers["Host"]
	assert.Equal(t, http.StatusOK, b.send(http.MethodGet, "/rows", nil, headers).status)
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	b := opened(t, night.CronJobs(now, 1))
	for _, got := range []answered{b.get("/"), b.get("/rows"), b.get("/script.js"), b.get("/rows?labels=%3D"), b.send(http.MethodGet, "/rows", nil, nil)} {
		policy := got.header.Get("Content-Security-Policy")
		assert.Contains(t, policy, "default-src 'none'")
		assert.Contains(t, policy, "script-src 'self'")
		assert.Contains(t, policy, "frame-ancestors 'none'")
		assert.NotContains(t, policy, "unsafe")
		assert.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-referrer", got.header.Get("Referrer-Policy"))
		assert.Equal(t, "no-store", got.header.Get("Cache-Control"))
		assert.NotContains(t, got.header, "Access-Control-Allow-Origin")
	}
	assert.Contains(t, b.get("/script.js").header.Get("Content-Type"), "javascript")
	assert.Contains(t, b.get("/style.css").header.Get("Content-Type"), "text/css")
}
