import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { lifecycleId } from '../core/task-queues.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import {
  consolidateNowSignal,
  holdUpdate,
  lifecycleStatusQuery,
  loopStatusQuery,
  pauseSignal,
  releaseUpdate,
  resumeSignal,
  retryNowUpdate,
} from '../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { type Forbidden, type Story, writeCorpus } from './histories/write-corpus.ts'
import { dated } from './scenarios/dated.ts'
import { World } from './world.ts'

/** Lives by story, as workflow ids. */
interface Lives {
  readonly plain: string
  readonly fallback: string
  readonly deletedNode: string
  readonly lostVm: string
  readonly heldUp: string
  readonly gaveUp: string
}

/** This host as a word of its own: its name may be as short as "vm", which is in other words, in encoded text, and the key of a result. */
const hostWord = new RegExp(`(?<![\\w-])${hostname().replaceAll('.', '\\.')}(?![\\w-]|\\\\*":)`)

/** Lives the main stories on real servers and writes the histories that the replay gate replays. */
async function record(): Promise<void> {
  const world = await World.start()
  try {
    world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s' })
    await world.apply(nodePool(), nodeClass(), deployment({ apart: true }))
    await world.untilReady('general')
    // Its long interval is not waited for.
    await world.maintain()
    const forbidden: Forbidden = { 'the host name': hostWord, 'a path of this machine': world.cluster.stateDir }
    const lives = await live(world, forbidden)
    await writeCorpus(world, await storiesOf(world, lives), forbidden)
  } finally {
    await world.stop()
  }
}

async function live(world: World, forbidden: Forbidden): Promise<Lives> {
  const [plain = ''] = await scaleUp(world, 2)
  say('two pods run')
  await noteSecrets(world, forbidden)
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 1 })
  await world.fault({ kind: 'failAsync', code: 'AllocationFailed', count: 1 })
  const [fallback = ''] = await scaleUp(world, 3)
  say('a third runs on the third offering')
  const deletedNode = await deleteNode(world, new Set([plain, fallback]))
  say('a deleted node was replaced')
  const lostVm = await loseVm(world, new Set([plain, fallback]))
  say('a node whose VM vanished was replaced')
  const heldUp = await holdUp(world, new Set([plain, fallback]))
  say('a node was held and released, and its drain was held up')
  await pauseProvisioning(world)
  say('provisioning was paused and went on')
  await replaceDrifted(world)
  say('drifted nodes were replaced, in the second attempt')
  await disruptEmptyNodes(world)
  say('empty nodes are gone')
  const gaveUp = await runOut(world)
  say('a life gave up')
  return { plain, fallback, deletedNode, lostVm, heldUp, gaveUp }
}

/** Scales up and returns the lives that are new. */
async function scaleUp(world: World, pods: number): Promise<readonly string[]> {
  const before = new Set((await world.lifecycles()).map(({ id }) => id))
  await world.scale('inflate', pods)
  await world.untilRunning(pods)
  await world.until('every NodeClaim is Ready', async () => {
    const claims = await world.list('nodeclaims')
    const isReady = (claim: (typeof claims)[number]) =>
      claim.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    return claims.length === pods && claims.every(isReady)
  })
  return (await world.lifecycles()).map(({ id }) => id).filter((id) => !before.has(id))
}

/** A lifecycle that no other story is about, with the names of its NodeClaim and Node. */
interface Chosen {
  readonly life: string
  readonly claim: string
  readonly node: string
}

async function another(world: World, kept: ReadonlySet<string>): Promise<Chosen> {
  const claims = await world.list('nodeclaims')
  const lives = (await world.lifecycles("ExecutionStatus = 'Running'")).map(({ id }) => id)
  const life = lives.find((id) => !kept.has(id)) ?? ''
  const { name = '' } = claims.find(({ metadata }) => life === lifecycleId(clusterName, metadata))?.metadata ?? {}
  return { life, claim: name, node: `aks-${name}` }
}

/** Waits until a lifecycle has ended and three pods run. */
async function untilReplaced(world: World, { life, node }: Chosen): Promise<void> {
  await world.until('the node is gone and its pod runs elsewhere', async () => {
    const gone = !(await world.list('nodes')).some(({ metadata }) => metadata.name === node)
    return gone && (await world.running()) === 3
  })
  await world.until('its life has ended', async () => isClosed(world, life))
}

async function deleteNode(world: World, kept: ReadonlySet<string>): Promise<string> {
  const chosen = await another(world, kept)
  await world.operator.kubectl(['delete', 'node', chosen.node, '--wait=false'])
  await untilReplaced(world, chosen)
  return chosen.life
}

/** Azure loses a VM, and its NodeClaim is deleted. */
async function loseVm(world: World, kept: ReadonlySet<string>): Promise<string> {
  const chosen = await another(world, kept)
  await world.operator.simulator('POST', `/vms/${chosen.node}/delete`)
  await world.untilSilent(chosen.node)
  await world.operator.kubectl(['delete', 'nodeclaim', chosen.claim, '--wait=false'])
  await untilReplaced(world, chosen)
  return chosen.life
}

/** An operator holds and releases a node. Then a pod holds up its drain, and the operator has the step begin again. */
async function holdUp(world: World, kept: ReadonlySet<string>): Promise<string> {
  const chosen = await another(world, kept)
  const life = world.temporal.workflow.getHandle(chosen.life)
  await life.executeUpdate(holdUpdate, { args: [{ reason: 'recording' }] })
  await life.executeUpdate(releaseUpdate, { args: [null] })
  // All pods: what the others have runs on and is not in the way.
  const annotation = 'karpenter.sh/do-not-disrupt'
  await world.operator.kubectl(['annotate', 'pods', '--all', `${annotation}=true`])
  await world.operator.kubectl(['delete', 'nodeclaim', chosen.claim, '--wait=false'])
  await world.until('the drain reports the pod', async () => (await life.query(lifecycleStatusQuery)).drain)
  await life.executeUpdate(retryNowUpdate, { args: [null] })
  await world.operator.kubectl(['annotate', 'pods', '--all', `${annotation}-`])
  await untilReplaced(world, chosen)
  return chosen.life
}

async function pauseProvisioning(world: World): Promise<void> {
  const loop = world.loop('provisioning')
  await loop.signal(pauseSignal, { reason: 'recording' })
  await world.until('the pause is in force', async () => (await loop.query(loopStatusQuery)).pause !== undefined)
  await world.scale('inflate', 4)
  await loop.signal(resumeSignal, dated())
  await world.untilRunning(4)
}

/** A rollout whose replacements get no VM at first, so that commands are undone. */
async function replaceDrifted(world: World): Promise<void> {
  await world.fault({ kind: 'failSync', code: 'AllocationFailed', count: 100_000 })
  const template = { metadata: { labels: { team: 'blue' } } }
  await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', { spec: { template } })
  await world.until('a command is undone', async () => commandOf(world, 'drift', 'undone'))
  await world.operator.simulator('DELETE', '/faults')
  await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-unavailable-offerings'])
  await world.until(
    'all nodes are replaced',
    async () => {
      const claims = await world.list('nodeclaims')
      const isNew = claims.every(({ metadata }) => metadata.labels?.['team'] === 'blue')
      return claims.length === 4 && isNew && (await world.running()) === 4
    },
    180_000,
  )
}

/** A command of a method that ended so. */
async function commandOf(world: World, method: string, outcome: string): Promise<Story | undefined> {
  const query = `WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Completed'`
  for await (const { workflowId, runId } of world.temporal.workflow.list({ query })) {
    if (!workflowId.includes(`/${method}-`)) continue
    const result = (await world.temporal.workflow.getHandle(workflowId, runId).result()) as { readonly outcome: string }
    if (result.outcome === outcome) return { workflowId, runId }
  }
  return undefined
}

/** Pause, forced evaluation and plain evaluation of the disruption loop: some nodes go by each. */
async function disruptEmptyNodes(world: World): Promise<void> {
  const loop = world.loop('disruption')
  await loop.signal(pauseSignal, { reason: 'recording', until: new Date(Date.now() + 600_000).toISOString() })
  await world.until('the pause is in force', async () => (await loop.query(loopStatusQuery)).pause !== undefined)
  await world.scale('inflate', 2)
  await world.until('two pods are gone', async () => (await world.list('pods')).length === 2)
  await loop.signal(resumeSignal, dated())
  await loop.signal(consolidateNowSignal, dated())
  await world.until('two nodes are gone', async () => (await world.list('nodes')).length === 2)
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
}

/** No offering is left for a pod: its NodeClaim's life ends without a VM. */
async function runOut(world: World): Promise<string> {
  const before = new Set((await world.lifecycles()).map(({ id }) => id))
  await world.fault({ kind: 'failSync', code: 'AllocationFailed', count: 100_000 })
  await world.apply(deployment({ name: 'late', replicas: 1, cpu: '60' }))
  const life = await world.until('a life that gave up', async () => {
    const ended = await world.lifecycles("ExecutionStatus = 'Failed'")
    return ended.find(({ id }) => !before.has(id))?.id
  })
  await world.operator.kubectl(['delete', 'deployment', 'late'])
  await world.untilNothingLeft()
  return life
}

async function isClosed(world: World, id: string): Promise<boolean> {
  return (await world.temporal.workflow.getHandle(id).describe()).status.name === 'COMPLETED'
}

/** Takes note of every secret there is now, to look for them in the histories later. */
async function noteSecrets(world: World, forbidden: Forbidden): Promise<void> {
  const { adminToken, stateDir } = world.cluster
  forbidden["the administrator's token"] = adminToken
  forbidden["the ServiceAccount's token"] = await readFile(join(stateDir, 'joiner.token'), 'utf8')
  forbidden['the federated token'] = await readFile(join(stateDir, 'joiner.federated-token'), 'utf8')
  const secrets = await world.operator.api<{
    items: readonly { metadata: { name: string }; data?: Record<string, string> }[]
  }>('GET', '/api/v1/namespaces/kube-system/secrets')
  for (const { metadata, data } of secrets.items) {
    forbidden[`the secret of ${metadata.name}`] = Buffer.from(data?.['token-secret'] ?? '', 'base64').toString()
  }
}

/** Names of the stories, with the workflows that they are about. */
async function storiesOf(world: World, lives: Lives): Promise<readonly (readonly [string, Story])[]> {
  const of = (workflowId: string) => ({ workflowId })
  const command = async (method: string, outcome: string) => {
    const found = await commandOf(world, method, outcome)
    if (found === undefined) throw new Error(`no command of ${method} is ${outcome}`)
    return found
  }
  return [
    ['nodeClaimLifecycle.plain', of(lives.plain)],
    ['nodeClaimLifecycle.capacity-fallback', of(lives.fallback)],
    ['nodeClaimLifecycle.deleted-node', of(lives.deletedNode)],
    ['nodeClaimLifecycle.lost-vm', of(lives.lostVm)],
    ['nodeClaimLifecycle.held-up', of(lives.heldUp)],
    ['nodeClaimLifecycle.gave-up', of(lives.gaveUp)],
    ['provisioningLoop.pause', of(`provisioning/${clusterName}`)],
    ['disruptionLoop.pause-and-force', of(`disruption/${clusterName}`)],
    ['disruptionPass.consolidate', of(await longest(world, 'disruptionPass'))],
    ['disruptionCommand.empty', await command('emptiness', 'done')],
    ['disruptionCommand.replace', await command('drift', 'done')],
    ['disruptionCommand.undone', await command('drift', 'undone')],
    ['maintenance.pass', of(await longest(world, 'maintenance'))],
  ]
}

/** The ended run of a type with the most events. Errors: there is none. */
async function longest(world: World, type: string): Promise<string> {
  return world.until(`an ended ${type}`, async () => {
    let best: { readonly id: string; readonly events: number } | undefined
    const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Completed'`
    for await (const { workflowId, historyLength = 0 } of world.temporal.workflow.list({ query }))
      if (best === undefined || historyLength > best.events) best = { id: workflowId, events: historyLength }
    return best?.id
  })
}

function say(text: string): void {
  console.log(`${(process.uptime() * 1000).toFixed(0).padStart(7)} ms  ${text}`)
}

await record()
