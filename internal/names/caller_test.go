package names_test

import (
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/names"
)

func TestTheUserOfACaller(t *testing.T) {
	long := strings.Repeat("x", 512)
	for caller, want := range map[string]string{
		"kubernetes:ada":               "ada",
		"kubernetes:Ada Lovelace":      "Ada Lovelace",
		"kubernetes:oidc:äda@shop.com": "oidc:äda@shop.com",
		"kubernetes:" + long:           long,
		"kubernetes:" + long + "x":     "",
		"kubernetes:":                  "",
		"kubernetes":                   "",
		"Kubernetes:ada":               "",
		"certificate:worker":           "",
		"certificate:kubernetes:ada":   "",
		"":                             "",
		"kubernetes:ada\x00":           "",
		"kubernetes:ada\n":             "",
		"kubernetes:ada\u200b":         "",
		"kubernetes:ada\xff":           "",
	} {
		if got := names.UserOf(caller); got != want {
			t.Errorf("the user of %.40q is %.40q, want %.40q", caller, got, want)
		}
	}
}
