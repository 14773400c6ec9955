//go:build tools

// Package tools pins the server binaries that the local cluster builds from source.
package tools

import (
	_ "go.temporal.io/server/cmd/server"
	_ "go.temporal.io/server/cmd/tools/sql"
)
