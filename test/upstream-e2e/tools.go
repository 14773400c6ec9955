//go:build tools

// Package tools pins Karpenter, whose end-to-end suites the command builds, and its provider for kwok.
package tools

import (
	_ "sigs.k8s.io/karpenter/kwok"
	_ "sigs.k8s.io/karpenter/test/pkg/environment/common"
)
