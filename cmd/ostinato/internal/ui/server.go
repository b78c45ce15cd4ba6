package ui

import (
	"bytes"
	"embed"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
)

//go:embed assets
var assets embed.FS

// Settings are what a server needs.
type Settings struct {
	Backend Backend
	// Clock is how times are shown.
	Clock func() answer.Clock
	// By is who asks, as objects and ledgers will say.
	By string
	// Where names the namespace and the cluster that are shown.
	Where string
	// TemporalUI is the address of Temporal's own UI; empty where none is known.
	TemporalUI string
}

// Server is the page of one person.
type Server struct {
	settings  Settings
	guard     *guard
	address   string
	templates *template.Template
	reader    *reader
	plans     *plans
	rights    *rights
}

// New returns the page for a listener's address, which must be of loopback.
func New(settings Settings, address net.Addr) *Server {
	hosts := hostsOf(address)
	return &Server{
		settings: settings, guard: newGuard(hosts), address: hosts[0], templates: templates(),
		reader: newReader(settings.Backend), plans: newPlans(), rights: newRights(settings.Backend),
	}
}

// hostsOf are what a browser calls a server with an address of loopback.
func hostsOf(address net.Addr) []string {
	host, port, _ := net.SplitHostPort(address.String())
	return []string{net.JoinHostPort(host, port), net.JoinHostPort("localhost", port)}
}

// URL is the address with the token. It opens the page once.
func (s *Server) URL() string { return s.guard.url(s.address) }

// shellPaths are the files of the page, which say nothing of the cluster.
var shellPaths = map[string]string{
	"/": "shell.html", "/script.js": "script.js", "/style.css": "style.css", "/icon.svg": "icon.svg",
}

// Handler serves the page.
func (s *Server) Handler() http.Handler {
	data := http.NewServeMux()
	data.HandleFunc("GET /rows", s.rows)
	data.HandleFunc("GET /run", s.run)
	data.HandleFunc("GET /times", s.times)
	data.HandleFunc("GET /cronjob", s.cronJob)
	data.HandleFunc("POST /plan", s.plan)
	data.HandleFunc("POST /do", s.do)
	return s.guard.wrap(http.HandlerFunc(s.shell), data, http.HandlerFunc(s.welcome))
}

func (s *Server) shell(writer http.ResponseWriter, request *http.Request) {
	name := shellPaths[request.URL.Path]
	switch {
	case request.Method != http.MethodGet:
		http.Error(writer, "only GET is served", http.StatusMethodNotAllowed)
	case strings.HasSuffix(name, ".html"):
		s.write(writer, http.StatusOK, name, struct {
			Where   string
			Zooms   []page.Zoom
			Chosen  string
			Kinds   []page.Kind
			Row     int
			Refresh int64
		}{s.settings.Where, page.Zooms, page.ZoomOf("").Name, page.Kinds, rowsAtOnce, refreshEvery.Milliseconds()})
	default:
		http.ServeFileFS(writer, request, assets, "assets/"+name)
	}
}

// welcome gives the page its key. It is a page of this origin that goes on to the shell, since a browser that was led here from
// elsewhere would not send the cookie after a redirect.
func (s *Server) welcome(writer http.ResponseWriter, _ *http.Request) {
	s.write(writer, http.StatusOK, "welcome.html", s.guard.key)
}

// templates are those of the assets.
func templates() *template.Template {
	functions := template.FuncMap{
		"stamp": stamp,
		"query": func(pairs ...string) string {
			values := url.Values{}
			for n := 0; n+1 < len(pairs); n += 2 {
				values.Set(pairs[n], pairs[n+1])
			}
			return values.Encode()
		},
	}
	return template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/*.html"))
}

// buffers are used again: an answer of forty rows has 200 kB.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// write answers with a template. It is written when it is whole, so that a mistake in it is an error.
func (s *Server) write(writer http.ResponseWriter, status int, name string, data any) {
	buffer, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if err := s.templates.ExecuteTemplate(buffer, name, data); err != nil {
		http.Error(writer, "the page could not be made: "+answer.Printable(err.Error()), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "text/html; charset=utf-8")
	writer.WriteHeader(status)
	_, _ = writer.Write(buffer.Bytes()) // the client may be gone
}

// fail says to the person what could not be done.
func (s *Server) fail(writer http.ResponseWriter, status int, err error) {
	s.write(writer, status, "error.html", answer.Printable(err.Error()))
}
