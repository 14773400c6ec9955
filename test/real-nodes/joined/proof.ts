// What real kubelets show that join with what Joiner wrote into the PUTs of their VMs.
import type { Operator } from '../../../deploy/local/operator.ts'
import type { Fleet, Node } from '../../../deploy/local/real-nodes/fleet.ts'
import type { Stage } from '../../../deploy/local/real-nodes/stage.ts'
import { until } from '../../../deploy/local/real-nodes/until.ts'
import { type Difference, differences } from './compare.ts'
import {
  kubeletSettings,
  maxPods,
  otherPools,
  proveFlags,
  proveOtherArchitecture,
  proveSettings,
  proveSpot,
  proveStartup,
} from './kinds.ts'
import { Looks } from './looks.ts'
import { heldPool, nodeClassObject, type Pool, poolObjects, probeObjects, yaml } from './objects.ts'
import { proveTampering } from './tampering.ts'

const pools: readonly Pool[] = [{ name: 'plain' }, { name: heldPool }, ...otherPools]

/** What was seen. */
export interface Findings {
  /** From the simulator's own Nodes. */
  readonly differences: readonly Difference[]
  /** What became of nodes by what was changed in their configuration. */
  readonly changes: readonly (readonly [string, string])[]
}

/** Nodes join, run pods, are drained and go; they do not, or otherwise, where their configuration is another. Errors: what did not happen. */
export async function proveJoined(
  { operator }: Pick<Stage, 'operator'>,
  fleet: Fleet,
  say: (line: string) => void,
): Promise<Findings> {
  const looks = new Looks(operator)
  const parts = { operator, fleet, looks }
  const classes = [nodeClassObject('default'), nodeClassObject('settings', { kubelet: kubeletSettings, maxPods })]
  const objects = [...classes, ...pools.flatMap(poolObjects), ...probeObjects('plain')]
  await operator.kubectl(['apply', '--server-side', '-f', '-'], yaml(objects))
  const plain = await looks.untilClaimIs('Initialized', 'plain')
  await looks.untilReady(2, plain)
  say(`${plain}: its pods are ready, one of which asks the API server by its Service`)
  const logs = await operator.kubectl(['logs', 'deployment/probe'])
  if (!logs.includes('CoreDNS')) throw new Error(`kubectl logs deployment/probe: ${logs.slice(0, 300)}`)
  await proveFlags(parts, plain)
  say(`${plain}: its kubelet says of each flag of the PUT what it was given`)
  const found = await compared(operator, fleet, plain)
  const settings = await proveSettings(parts)
  say(`${settings}: its kubelet has all settings of its AKSNodeClass`)
  const startup = await proveStartup(parts)
  say(`${startup}: it was initialized once its startup taint was gone`)
  for (const node of [settings, startup]) found.push(...unexplained(await compared(operator, fleet, node)))
  say(await proveOtherArchitecture(parts))
  const spot = await proveSpot(parts)
  say(`${spot}: Azure has taken it back, and its pod runs on another spot node`)
  await until('there is a VM that is not booted', 30_000, async () => fleet.held.size > 0)
  const [held] = fleet.held
  if (held === undefined) throw new Error(`no VM of ${heldPool}`)
  const changes = await proveTampering({ operator, fleet }, held)
  for (const [what, outcome] of changes) say(`one byte of ${what} is another: it ${outcome}`)
  await operator.kubectl(['delete', 'deployment', `on-${heldPool}`])
  await operator.kubectl(['delete', 'nodepool', heldPool])
  await proveDrain(parts, plain, say)
  await operator.kubectl(['delete', 'deployment', 'probe', 'on-plain', 'on-settings', 'on-startup', 'on-spot'])
  await until('all nodes are gone', 240_000, async () => {
    const left = await operator.kubectl(['get', 'nodeclaims', '--output', 'name'])
    return left === '' && fleet.machines.size === 0
  })
  say('the nodes are gone, and their kubelets with them')
  return { differences: found, changes }
}

const unexplained = (found: readonly Difference[]) => found.filter(({ why }) => why === undefined)

async function compared(operator: Operator, fleet: Fleet, name: string): Promise<Difference[]> {
  const node = await operator.api<Node>('GET', `/api/v1/nodes/${name}`)
  const registered = fleet.registered.get(name)
  const simulated = fleet.machines.get(name)?.made.node
  if (registered === undefined || simulated === undefined) throw new Error(`${name} is no VM of the fleet`)
  return [...differences({ registered, node }, simulated)]
}

/** A node whose NodeClaim is deleted is drained: its kubelet ends its pods before Azure takes it away. */
async function proveDrain(
  { operator, fleet, looks }: { readonly operator: Operator; readonly fleet: Fleet; readonly looks: Looks },
  node: string,
  say: (line: string) => void,
): Promise<void> {
  const vm = fleet.machines.get(node)
  const pods = (await looks.readyPods(node)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  await operator.kubectl(['delete', 'node', node, '--wait=false'])
  await until(`${node} is gone`, 120_000, async () => !fleet.machines.has(node))
  const log = (await vm?.log()) ?? ''
  const removed = log.split('\n').filter((line) => line.includes('"SyncLoop REMOVE"'))
  const missed = pods.filter((pod) => !removed.some((line) => line.includes(pod)))
  if (missed.length > 0) throw new Error(`${node} went before its kubelet had ended ${missed.join(', ')}`)
  say(`${node}: its kubelet had ended ${pods.length} pods before it went`)
}
