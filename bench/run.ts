import { Command } from 'commander'
import type { Cloud } from '../deploy/local/cluster.ts'
import { cloudNames, count, counts, share } from './arguments.ts'
import { refusals } from './azure/refusals.ts'
import { day } from './day/day.ts'
import { advise } from './disruption/advise.ts'
import { consolidation } from './disruption/consolidation.ts'
import { disruption } from './disruption/disruption.ts'
import { disruptionParityReport } from './disruption/disruption-parity.ts'
import { driftRollout } from './disruption/drift-rollout.ts'
import { reclaim } from './disruption/reclaim.ts'
import { guard } from './guard/guard.ts'
import { hostilePods } from './hostile/hostile-pods.ts'
import { webhookFlood } from './hostile/webhook-flood.ts'
import { armCalls } from './nodes/arm-calls.ts'
import { fallback } from './nodes/fallback.ts'
import { latency } from './nodes/latency.ts'
import { lifecycle } from './nodes/lifecycle.ts'
import { lifecyclesOpen } from './nodes/lifecycles-open.ts'
import { sizes } from './nodes/sizes.ts'
import { temporalActions } from './nodes/temporal-actions.ts'
import { throttling } from './nodes/throttling.ts'
import { waits } from './nodes/waits.ts'
import { scaleUp } from './scale-up/scale-up.ts'
import { start } from './scale-up/start.ts'
import { parity } from './scheduling/parity.ts'
import { planner } from './scheduling/planner.ts'
import { scheduling } from './scheduling/scheduling.ts'
import { whatIf } from './scheduling/what-if.ts'
import { scrape } from './scrape.ts'
import { uiPage } from './ui/page.ts'
import { ui } from './ui/ui.ts'
import { view } from './view.ts'
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
  .command('refusals')
  .description(
    'every way in which Azure refuses a VM: what Joiner does about it, and how soon a pod runs on another offering',
  )
  .option('--only <text>', 'only cases whose name holds this text')
  .action(async ({ only }: { readonly only?: string }) => refusals(only))
program
  .command('ui-page')
  .description('the page of joiner ui in headless Chromium at 100 and 1,000 nodes: first paint, updates, heap')
  .action(uiPage)
program
  .command('day')
  .description(
    'a day of a cluster, compressed: rising and falling demand, rollouts, spot waves, a changed template; two planners, processes as in the chart',
  )
  .option('--pods <count>', 'how many pods are made in all; 20 are a node', count, 40_000)
  .option('--hour <seconds>', 'how long an hour lasts', count, 60)
  .action(async ({ pods, hour }: { readonly pods: number; readonly hour: number }) => day({ pods, hourSeconds: hour }))
program
  .command('lifecycle')
  .description('NodeClaims become initialized nodes and go again: times by phase, CPU by process, memory, events')
  .option('--nodes <count>', 'how many', count, 1000)
  .action(async ({ nodes }: { readonly nodes: number }) => lifecycle(nodes))
program
  .command('latency')
  .description('from the creation of a NodeClaim to the PUT of its VM, at a steady rate of launches')
  .option('--launches <count>', 'how many', count, 300)
  .option('--per-second <count>', 'how many a second', count, 10)
  .action(async ({ launches, perSecond }: { readonly launches: number; readonly perSecond: number }) =>
    latency({ launches, perSecond }),
  )
program
  .command('lifecycles-open')
  .description('memory of one worker that holds many open lifecycles')
  .option('--count <count>', 'how many', count, 5000)
  .action(async ({ count: lifecycles }: { readonly count: number }) => lifecyclesOpen(lifecycles))
program
  .command('waits')
  .description('what a change of the cluster costs, by how many lifecycles wait for one')
  .option('--waiters <counts>', 'how many, for one row each', counts, [10, 100, 1000, 5000])
  .action(({ waiters }: { readonly waiters: readonly number[] }) => waits(waiters))
program
  .command('reclaim')
  .description('Azure takes spot VMs back, all at once: passes of the planner, and until their pods run elsewhere')
  .option('--nodes <count>', 'how many', count, 200)
  .action(async ({ nodes }: { readonly nodes: number }) => reclaim(nodes))
program
  .command('arm-calls')
  .description('calls to Azure per node, from launch to gone')
  .option('--nodes <counts>', 'how many, for one run each', counts, [1, 100, 1000])
  .action(async ({ nodes }: { readonly nodes: readonly number[] }) => armCalls(nodes))
program
  .command('throttling')
  .description('launches and deletions against Azure’s documented token buckets')
  .option('--nodes <count>', 'how many', count, 1000)
  .option('--granted <share>', 'which part of its documented limits Azure grants', share, 1)
  .action(throttling)
program
  .command('fallback')
  .description('capacity fallback: from Azure’s refusal to the next PUT of the same NodeClaim')
  .option('--rounds <count>', 'how many NodeClaims, one after the other', count, 20)
  .action(async ({ rounds }: { readonly rounds: number }) => fallback(rounds))
program
  .command('hostile-pods')
  .description('what the largest pods of expensive shapes add to a planner’s passes, evaluations and memory')
  .argument('[names...]', 'parts of the names of shapes; default: all')
  .option('--tuned', 'not the largest pods, but those that are just looked at')
  .action(async (names: readonly string[], { tuned }: { readonly tuned?: true }) => hostilePods(names, tuned === true))
program
  .command('scheduling')
  .description('the scheduler and upstream’s (bench/peer, needs Go) on the same workloads in memory')
  .option('--skip-peer', 'only ours')
  .option('--only <name>', 'only this workload')
  .action(async ({ skipPeer = false, only }: { readonly skipPeer?: boolean; readonly only?: string }) =>
    scheduling({ skipPeer, only }),
  )
program.command('planner').description('a warm pass of the planner on 5,000 nodes with 100,000 pods').action(planner)
program.command('scrape').description('a scrape of the metrics of 5,000 nodes with 100,000 pods').action(scrape)
program
  .command('ui')
  .description('joiner ui with a large cluster: its start, the whole view, how soon a change is there, its memory')
  .option('--nodes <count>', 'how many', count, 1000)
  .option('--pods-each <count>', 'pods on each node', count, 20)
  .action(async ({ nodes, podsEach }: { readonly nodes: number; readonly podsEach: number }) => ui({ nodes, podsEach }))
program
  .command('what-if')
  .description('where pods would go without each node of a cluster in turn, and without half of them')
  .option('--nodes <counts>', 'how many, for one run each', counts, [1000, 5000])
  .action(({ nodes }: { readonly nodes: readonly number[] }) => whatIf(nodes))
program
  .command('advise')
  .description('joiner advise on a large cluster, of Karpenter and of agent pools: time and memory')
  .option('--nodes <count>', 'how many; each has 20 pods', count, 5000)
  .action(async ({ nodes }: { readonly nodes: number }) => advise(nodes))
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
  .command('consolidation')
  .description('an underutilised cluster of spread workloads shrinks, and a watcher counts healthy pods at each change')
  .option('--nodes <count>', 'how many there are before', count, 60)
  .option('--budget <nodes>', "the NodePool's budget", '30%')
  .action(async ({ nodes, budget }: { readonly nodes: number; readonly budget: string }) =>
    consolidation({ nodes, budget, within: 0.1, consolidateAfter: '10s', limitMs: 300_000, quietMs: 45_000 }),
  )
program
  .command('drift-rollout')
  .description('all nodes of a NodePool drift; how well its budget is kept, and used, at each change')
  .option('--nodes <count>', 'how many', count, 100)
  .option('--percent <count>', 'the budget, in percent', count, 10)
  .action(async ({ nodes, percent }: { readonly nodes: number; readonly percent: number }) =>
    driftRollout({ nodes, percent, least: Math.floor((nodes * percent * 0.8) / 100), limitMs: 600_000 }),
  )
program
  .command('webhook-flood')
  .description("foreign clients flood the conversion webhook's port: what ends, and what goes on meanwhile")
  .option('--seconds <count>', 'how long', count, 30)
  .action(async ({ seconds }: { readonly seconds: number }) => webhookFlood(seconds))
program
  .command('view')
  .description('the live view of a large cluster: its first, each change, its memory; and building it again each time')
  .option('--nodes <count>', 'how many', count, 1000)
  .option('--pods-each <count>', 'pods on each', count, 20)
  .action(view)
program
  .command('workload')
  .description('print a workload as a scenario, for another program or a profiler')
  .argument('<name>', 'as in the table of scheduling, parity-SEED, or of disruption as mixed-single-node-1000')
  .action((name: string) => void process.stdout.write(scenarioNamed(name)))

if (process.argv.length === 2) program.outputHelp()
else await program.parseAsync()
