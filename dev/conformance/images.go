package main

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// images are the names under which the suite wants the two programs its specs of Jobs run. No registry is asked: the node
// is given images of those names.
type images struct {
	busyBox, pause []string
}

// suiteImages asks the suite for the images of its release.
func suiteImages(ctx context.Context, suite string) (images, error) {
	listed, err := exec.CommandContext(ctx, suite, "--list-images").Output()
	if err != nil {
		return images{}, fmt.Errorf("list the suite's images: %w", err)
	}
	return chooseImages(string(listed))
}

// chooseImages picks them from a list of one image a line.
func chooseImages(listed string) (images, error) {
	var found images
	for _, image := range strings.Fields(listed) {
		switch name, _, _ := strings.Cut(path.Base(image), ":"); name {
		case "busybox":
			found.busyBox = append(found.busyBox, image)
		case "pause":
			found.pause = append(found.pause, image)
		}
	}
	if len(found.busyBox) == 0 || len(found.pause) == 0 {
		return images{}, fmt.Errorf("the suite lists no busybox or no pause image: %q", listed)
	}
	// The suite lists them in any order.
	slices.Sort(found.busyBox)
	slices.Sort(found.pause)
	return found, nil
}
