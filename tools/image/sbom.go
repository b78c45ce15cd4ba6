package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// document is a software bill of materials in SPDX 2.3.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID            string      `json:"SPDXID"`
	Name          string      `json:"name"`
	Version       string      `json:"versionInfo"`
	Location      string      `json:"downloadLocation"`
	FilesAnalyzed bool        `json:"filesAnalyzed"`
	References    []reference `json:"externalRefs"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// writeSBOM writes what Go recorded in a program, every module of it, beside the program.
func writeSBOM(target, version string) error {
	info, err := buildinfo.ReadFile(target)
	if err != nil {
		return fmt.Errorf("read the build information: %w", err)
	}
	name := filepath.Base(target)
	bill := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://ostinato.dev/sbom/" + name + "/" + version,
		Creation:  creation{epoch.Format(time.RFC3339), []string{"Tool: ostinato-tools-image"}},
	}
	add := func(id, by, relation, module, version string) {
		locator := "pkg:golang/" + module + "@" + version
		bill.Packages = append(bill.Packages, spdxPackage{
			ID: id, Name: module, Version: version, Location: "NOASSERTION", References: []reference{{"PACKAGE-MANAGER", "purl", locator}},
		})
		bill.Relationships = append(bill.Relationships, relationship{by, relation, id})
	}
	const main = "SPDXRef-main"
	add(main, bill.ID, "DESCRIBES", info.Main.Path, version)
	add("SPDXRef-stdlib", main, "DEPENDS_ON", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))
	for n, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		add(fmt.Sprintf("SPDXRef-module-%d", n), main, "DEPENDS_ON", module.Path, module.Version)
	}
	data, err := json.MarshalIndent(bill, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(target+".spdx.json", append(data, '\n'), 0o644)
}
