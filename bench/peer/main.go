// Peer answers scenarios with upstream's scheduler and disruption methods, so that a benchmark can compare answers and times.
//
//	peer solve [-time] [-rounds N] [FILE]
//	peer disrupt [-time] [-rounds N] [-distinct] [-limit DURATION] [FILE]
//
// FILE (or the standard input) is a scenario as JSON, perhaps compressed with gzip. The result of the last round goes
// to the standard output, with -distinct a list of all that differ. With -time, each round is one line of JSON on the
// standard error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

const usage = "usage: peer solve|disrupt [-time] [-rounds N] [-distinct] [-limit DURATION] [FILE]"

type arguments struct {
	timed    bool
	distinct bool
	rounds   int
	file     string
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "solve" && args[0] != "disrupt" {
		return errors.New(usage)
	}
	var given arguments
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	flags.BoolVar(&given.timed, "time", false, "write the times of each round to the standard error")
	flags.IntVar(&given.rounds, "rounds", 1, "how often to answer the scenario, each time with a new scheduler or method")
	if args[0] == "disrupt" {
		flags.BoolVar(&given.distinct, "distinct", false, "write a list of all results that differ")
		flags.DurationVar(&disruption.SingleNodeConsolidationTimeoutDuration, "limit",
			disruption.SingleNodeConsolidationTimeoutDuration, "when a single-node pass with -time gives up")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if given.rounds < 1 {
		return fmt.Errorf("-rounds %d: must be at least 1", given.rounds)
	}
	given.file = flags.Arg(0)
	logger := logr.Discard()
	log.SetLogger(logger)
	klog.SetLogger(logger)
	ctx := log.IntoContext(context.Background(), logger)
	if args[0] == "disrupt" {
		return disrupt(ctx, given)
	}
	return solve(ctx, given)
}

func solve(ctx context.Context, given arguments) error {
	scenario, err := load(given.file)
	if err != nil {
		return err
	}
	world, objects, err := newWorld(ctx, scenario, testclock.NewFakeClock(scenario.Now), silent{})
	if err != nil {
		return err
	}
	if err := world.observe(objects); err != nil {
		return err
	}
	// Reading leaves much more memory than solving needs; the objects alone are kept.
	scenario.Objects = nil
	var answer result
	for range given.rounds {
		round, err := world.solve()
		if err != nil {
			return err
		}
		answer = round.result
		if err := given.report(round.times); err != nil {
			return err
		}
	}
	return write(os.Stdout, answer)
}

func disrupt(ctx context.Context, given arguments) error {
	scenario, err := load(given.file)
	if err != nil {
		return err
	}
	var events observed
	clk := standingOrRunning(scenario.Now, given.timed)
	world, objects, err := newWorld(ctx, scenario, clk, &events)
	if err != nil {
		return err
	}
	scenario.Objects = nil
	conditions, err := world.prepare(scenario.Options, objects)
	if err != nil {
		return err
	}
	var answer disruptionResult
	var answers []disruptionResult
	for range given.rounds {
		events = observed{}
		round, err := world.disrupt(scenario.Method)
		if err != nil {
			return err
		}
		answer = round.result
		answer.Blocked = events.list()
		answer.Conditions = conditions
		if isNew := !slices.ContainsFunc(answers, func(one disruptionResult) bool { return reflect.DeepEqual(one, answer) }); isNew {
			answers = append(answers, answer)
		}
		if err := given.report(round.times); err != nil {
			return err
		}
	}
	if given.distinct {
		return write(os.Stdout, answers)
	}
	return write(os.Stdout, answer)
}

func (a arguments) report(times any) error {
	if !a.timed {
		return nil
	}
	return json.NewEncoder(os.Stderr).Encode(times)
}

func write(to io.Writer, answer any) error {
	out := bufio.NewWriter(to)
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		return err
	}
	return out.Flush()
}

func milliseconds(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }
