// Peer answers a scheduling scenario with upstream's scheduler, so that a benchmark can compare answers and times.
//
//	peer solve [-time] [-rounds N] [FILE]
//
// FILE (or the standard input) is a scenario as JSON, perhaps compressed with gzip. The result of the last round goes
// to the standard output. With -time, each round is one line of JSON on the standard error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "solve" {
		return fmt.Errorf("usage: peer solve [-time] [-rounds N] [FILE]")
	}
	flags := flag.NewFlagSet("solve", flag.ExitOnError)
	timed := flags.Bool("time", false, "write the times of each round to the standard error")
	rounds := flags.Int("rounds", 1, "how often to solve the scenario, each time with a new topology and scheduler")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds %d: must be at least 1", *rounds)
	}
	scenario, err := load(flags.Arg(0))
	if err != nil {
		return err
	}
	logger := logr.Discard()
	log.SetLogger(logger)
	klog.SetLogger(logger)
	world, err := newWorld(log.IntoContext(context.Background(), logger), scenario)
	if err != nil {
		return err
	}
	// Reading leaves much more memory than solving needs; the objects alone are kept.
	scenario.Objects = nil
	var answer result
	for range *rounds {
		round, err := world.solve()
		if err != nil {
			return err
		}
		answer = round.result
		if *timed {
			if err := json.NewEncoder(os.Stderr).Encode(round.times); err != nil {
				return err
			}
		}
	}
	return write(os.Stdout, answer)
}

func write(to io.Writer, answer result) error {
	out := bufio.NewWriter(to)
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		return err
	}
	return out.Flush()
}
