package devstack

import "fmt"

// NodeKind says what runs the Pods of a stack.
type NodeKind string

const (
	// NodeAuto is a real node where the machine can have one, else kwok.
	NodeAuto NodeKind = "auto"
	// NodeReal is a kubelet with containerd: containers really run (Linux, root).
	NodeReal NodeKind = "real"
	// NodeKwok simulates the Pods.
	NodeKwok NodeKind = "kwok"
	// NodeNone starts no node: the cluster has its own.
	NodeNone NodeKind = "none"
)

// simulated is what a user has to know of NodeKwok.
const simulated = "Pods are simulated (kwok): no container runs and there are no logs; docs/simulated-pods.md says how to have them run and fail."

// servicesStatement says what a real node's Pods do without if what gives them Services is missing.
func servicesStatement(missing string) string {
	return fmt.Sprintf("Pods reach no Service and find no name: %s.", missing)
}

// chooseNode resolves NodeAuto. The statement says in words what was chosen and
// what it means; it is empty when a real node was asked for and can be had.
func chooseNode(kind NodeKind, realPossible bool, missing string) (chosen NodeKind, statement string, err error) {
	switch {
	case kind == NodeReal && !realPossible:
		return "", "", fmt.Errorf("a real node can't run here: %s; use NODE=kwok for simulated Pods", missing)
	case kind == NodeReal, kind == NodeAuto && realPossible:
		return NodeReal, "", nil
	case kind == NodeAuto:
		return NodeKwok, fmt.Sprintf("%s For a real node: %s.", simulated, missing), nil
	case kind == NodeKwok:
		return NodeKwok, simulated, nil
	}
	return kind, "", nil
}
