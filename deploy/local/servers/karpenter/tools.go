//go:build tools

// Package tools pins the server binaries that the local cluster builds from source.
package tools

import (
	_ "sigs.k8s.io/karpenter/kwok"
)
