package jobs

import "pgregory.net/rapid"

func drawScenario(t *rapid.T) scenario { return table()[0] }
