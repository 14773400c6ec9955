import { Command } from 'commander'
import type { Cloud } from '../deploy/local/cluster.ts'
import { cloudNames, count, counts } from './arguments.ts'
import { commandLine } from './command-line.ts'
import { disruption } from './disruption/disruption.ts'
import { disruptionParityReport } from './disruption/disruption-parity.ts'
import { guard } from './guard/guard.ts'
import { sizes } from './nodes/sizes.ts'
import { temporalActions } from './nodes/temporal-actions.ts'
import { temporalSize } from './nodes/temporal-size.ts'
import { scaleUp } from './scale-up/scale-up.ts'
import { start } from './scale-up/start.ts'
import { parity } from './scheduling/parity.ts'
import { planner } from './scheduling/planner.ts'
import { scheduling } from './scheduling/scheduling.ts'
import { scenarioNamed } from './workloads/workloads.ts'

const program = new Command('npm run bench --')
  .description('Benchmarks. Each prints a Markdown table, with its baseline measured in the same call.')
  .usage('NAME [options]')
program
  .command('scale-up')
  .description('pods that each need a node: from the scale request to the last one Running, and back to no node')
  .option('--pods <counts>', 'how many, for one run each', counts, [5, 100, 500])
  .option(
    '--peer',
    'Karpenter (built from its Go module, needs Go) on the same servers before Joiner, and ratios to it',
  )
  .option(
    '--cloud <names>',
    'how VMs become Nodes: boot, by the bootstrap of their kubelets; instant, by the operator at once, as in the cloud of the peer; or both as instant,boot (default: boot; with --peer both)',
    cloudNames,
  )
  .action(
    async (options: { readonly pods: readonly number[]; readonly peer?: true; readonly cloud?: readonly Cloud[] }) => {
      const peer = options.peer === true
      await scaleUp({ pods: options.pods, peer, clouds: options.cloud ?? (peer ? ['instant', 'boot'] : ['boot']) })
    },
  )
program
  .command('start')
  .description(
    'kill -9 and a start at once, before a pod is asked for and behind its launch: until it runs; processor time and memory',
  )
  .option('--kills <count>', 'how many of each', count, 10)
  .option('--peer', 'Karpenter (built from its Go module, needs Go) on the same servers before Joiner')
  .action(async ({ kills, peer = false }: { readonly kills: number; readonly peer?: boolean }) =>
    start({ rounds: kills, peer }),
  )
program
  .command('sizes')
  .description(
    'what each process takes as a cluster grows, of profile single and of the four Deployments: CPU and memory',
  )
  .option('--nodes <counts>', 'how many, one after the other', counts, [5, 100, 200])
  .action(({ nodes }: { readonly nodes: readonly number[] }) => sizes(nodes))
program
  .command('guard')
  .description(
    'requests, events, bytes and Actions of a start, a node’s life and an idle hour, counted in virtual time; npm test fails when they differ from bench/guard/counts.json',
  )
  .option('--write', 'keep what is counted now')
  .action(guard)
program
  .command('temporal-actions')
  .description('what a life, a replacement and an idle day cost in Actions of Temporal, by the server’s own count')
  .option('--idle-minutes <count>', 'how long the cluster at rest is watched', count, 60)
  .option('--lives <count>', 'how many nodes live', count, 20)
  .action((options: { readonly idleMinutes: number; readonly lives: number }) => temporalActions(options))
program
  .command('temporal-size')
  .description('memory of the bundled Temporal with so many nodes, and what their histories take in its database')
  .option('--nodes <count>', 'how many', count, 200)
  .action(async ({ nodes }: { readonly nodes: number }) => temporalSize(nodes))
program
  .command('scheduling')
  .description('the scheduler and upstream’s (bench/peer, needs Go) on the same workloads in memory')
  .option('--skip-peer', 'only ours')
  .option('--only <name>', 'only this workload')
  .action(async ({ skipPeer = false, only }: { readonly skipPeer?: boolean; readonly only?: string }) =>
    scheduling({ skipPeer, only }),
  )
program.command('planner').description('a warm pass of the planner on 5,000 nodes with 100,000 pods').action(planner)
program
  .command('parity')
  .description('scenarios to which upstream’s scheduler has one answer: how often ours is the same')
  .option('--scenarios <count>', 'how many', count, 50)
  .action(async ({ scenarios }: { readonly scenarios: number }) => parity(scenarios))
program
  .command('disruption')
  .description(
    'single-node passes and multi-node searches of disruption, and upstream’s (bench/peer, needs Go) on the same clusters',
  )
  .option('--skip-peer', 'only ours')
  .option('--only <names>', 'only these workloads, such as mixed-single-node-1000,settled-single-node-1000')
  .action(async ({ skipPeer = false, only }: { readonly skipPeer?: boolean; readonly only?: string }) =>
    disruption({ skipPeer, only }),
  )
program
  .command('disruption-parity')
  .description('small clusters of which much may be wrong: how often ours decides about them as upstream’s methods do')
  .option('--scenarios <count>', 'how many', count, 50)
  .option('--first <seed>', 'the seed of the first', count, 1)
  .action(async ({ scenarios, first }: { readonly scenarios: number; readonly first: number }) =>
    disruptionParityReport(scenarios, first),
  )
program
  .command('command-line')
  .description('processor time of a start of the command line, by command, beside Node itself')
  .option('--rounds <count>', 'of four starts each', count, 5)
  .action(commandLine)
program
  .command('workload')
  .description('print a workload as a scenario, for another program or a profiler')
  .argument('<name>', 'as in the table of scheduling, parity-SEED, or of disruption as mixed-single-node-1000')
  .action((name: string) => void process.stdout.write(scenarioNamed(name)))

if (process.argv.length === 2) program.outputHelp()
else await program.parseAsync()
