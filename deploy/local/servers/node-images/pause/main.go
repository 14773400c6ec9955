// The first container of a pod, which holds its namespaces until it is told to end.
package main

import (
	"context"
	"os/signal"
	"syscall"
)

func main() {
	told, forget := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer forget()
	<-told.Done()
}
