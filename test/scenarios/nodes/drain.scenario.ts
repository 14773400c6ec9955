import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import type { LifecycleStatus } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { summaries } from '../../observed/summaries.ts'
import { patient } from '../../runner/patience.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

const graceSeconds = 20

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  const pool = nodePool({ consolidateAfter: 'Never' })
  const spec = { ...pool.spec.template.spec, terminationGracePeriod: `${graceSeconds}s` }
  await world.apply({ ...pool, spec: { ...pool.spec, template: { spec } } }, nodeClass(), deployment())
  await world.untilReady('general')
  await world.scale('inflate', 1)
  await world.untilRunning(1)
})

afterAll(() => world?.stop())

/** The one NodeClaim that stays: those before it are gone or going. */
async function usedClaim(): Promise<Seen> {
  return world.until('one NodeClaim is in use', async () => {
    const claims = await world.list('nodeclaims')
    return claims.length === 1 && claims[0]?.metadata.deletionTimestamp === undefined && claims[0]
  })
}

const nodeOf = ({ metadata }: Seen) => `aks-${metadata.name}`

/** Asks for the deletion of the NodeClaim in use. */
async function deleteUsedClaim(): Promise<Seen> {
  const claim = await usedClaim()
  await world.operator.kubectl(['delete', 'nodeclaim', claim.metadata.name, '--wait=false'])
  return claim
}

async function condition(claim: Seen, type: string) {
  const found = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === claim.metadata.name)
  return found?.status?.conditions?.find((one) => one.type === type)
}

function lifecycle({ metadata }: Seen) {
  return world.temporal.workflow.getHandle(lifecycleId(clusterName, metadata))
}

/** What the Temporal UI shows of a run. */
async function details(claim: Seen): Promise<string> {
  const shown = await lifecycle(claim).query<{ currentDetails?: string }>('__temporal_workflow_metadata')
  // They are Markdown, in which what comes from the cluster is escaped.
  return (shown.currentDetails ?? '').replaceAll(/\\([^\w\s])/g, '$1').replaceAll('\\_', '_')
}

const vmExists = async (name: string) => (await world.azure()).virtualMachines.some((vm) => vm.name === name)
const eventsOf = async (reason: string, object: string) =>
  (await world.list('events')).filter((event) => event.reason === reason && event.involvedObject?.name === object)

async function untilGone(claim: Seen, ms = 60_000): Promise<void> {
  await world.until(
    'NodeClaim, Node and VM are gone',
    async () =>
      !(await vmExists(nodeOf(claim))) &&
      [...(await world.list('nodes')), ...(await world.list('nodeclaims'))].every(
        ({ metadata: { name } }) => name !== nodeOf(claim) && name !== claim.metadata.name,
      ),
    ms,
  )
}

const attachment = (name: string, nodeName: string) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name },
  spec: { attacher: 'disk.csi.azure.com', nodeName, source: { persistentVolumeName: `data-of-${name}` } },
})

test('a volume that is still attached holds up the deletion of the VM, and the NodeClaim says so', async () => {
  const claim = await usedClaim()
  await world.apply(attachment('attached', nodeOf(claim)))
  await deleteUsedClaim()
  const waiting = await world.until('the wait is reported', async () => {
    const found = await condition(claim, 'VolumesDetached')
    return found?.status === 'Unknown' && found
  })
  expect(waiting.reason).toBe('AwaitingVolumeDetachment')
  expect(waiting.message).toMatch(/VolumeAttachment attached of PersistentVolume data-of-attached .*, since 20\S+Z/)
  expect(await vmExists(nodeOf(claim))).toBe(true)
  await world.operator.kubectl(['delete', 'volumeattachment', 'attached'])
  await untilGone(claim)
  await world.untilRunning(1)
})

test('what holds up a drain is named with its time everywhere, until the terminationGracePeriod is over and not longer', async () => {
  const claim = await usedClaim()
  const guarded = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'guarded',
      namespace: 'default',
      annotations: { 'karpenter.sh/do-not-disrupt': 'true' },
    },
    spec: { nodeName: nodeOf(claim), terminationGracePeriodSeconds: 5, containers: [{ name: 'main', image: 'pause' }] },
  }
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
  }
  await world.apply(budget, guarded, attachment('forgotten', nodeOf(claim)))
  await world.until('the guarded pod runs', async () =>
    (await world.list('pods')).some(
      ({ metadata, status }) => metadata.name === 'guarded' && status?.phase === 'Running',
    ),
  )
  await world.timing({ deleteMs: 3000 })
  const startedAt = Date.now()
  await deleteUsedClaim()

  const byBudget =
    /evicting pod violates a PDB \(Pod=default\/inflate-\S+, PodDisruptionBudget=\[default\/inflate\]\), since 20\S+Z/
  const byAnnotation = /pod default\/guarded has the annotation karpenter.sh\/do-not-disrupt, since 20\S+Z/
  const waiting = await world.until('the wait is reported', async () => {
    const found = await condition(claim, 'Drained')
    return found?.message.includes('PDB') && found
  })
  expect(waiting.status).toBe('Unknown')
  expect(waiting.message).toMatch(/^2 pods are waiting to be evicted: /)
  for (const named of [byBudget, byAnnotation]) expect(waiting.message).toMatch(named)
  const [event] = await world.until('the Node says', async () => {
    const found = await eventsOf('FailedDraining', nodeOf(claim))
    return found.length > 0 && found
  })
  expect(event?.message).toMatch(/^Failed to drain node, 2 pods are waiting to be evicted: .*PDB/)
  const status = await world.until('the lifecycle says', async () => {
    const found = await lifecycle(claim).query<LifecycleStatus>('status')
    return found.drain !== undefined && found
  })
  expect(status).toMatchObject({ phase: 'Draining', leaves: 'deleted by somebody' })
  for (const named of [byBudget, byAnnotation]) {
    expect(status.waitingFor).toMatch(named)
    expect(await details(claim)).toMatch(named)
  }
  const shown = await details(claim)
  expect(shown).toMatch(/^\*\*Draining since 20/)
  for (const command of [
    'kubectl edit pdb --namespace default inflate',
    'kubectl annotate pod --namespace default guarded karpenter.sh/do-not-disrupt-',
  ])
    expect(shown).toContain(`- \`${command}\`\n`)
  expect(status.drain?.on.map(({ sinceMs }) => sinceMs >= startedAt - 1000 && sinceMs <= Date.now())).toEqual([
    true,
    true,
  ])

  const skipped = await world.until('the volume is waited for no longer', () => condition(claim, 'VolumesDetached'))
  expect(Date.now() - startedAt).toBeGreaterThan((graceSeconds - 6) * 1000)
  expect(skipped).toMatchObject({ status: 'False', reason: 'TerminationGracePeriodElapsed' })
  await untilGone(claim)
  expect((await eventsOf('Disrupted', 'guarded')).length).toBeGreaterThan(0)
  const [first, ...later] = await summaries(lifecycle(claim), { activity: 'drain' })
  expect(first).toBe('deleted by somebody; evict pods, wait for volumes')
  expect(later[0]).toMatch(byBudget)
  await world.timing({ deleteMs: 0 })
  await world.operator.kubectl(['delete', 'pdb', 'inflate'])
  await world.operator.kubectl(['delete', 'volumeattachment', 'forgotten'])
  await world.untilRunning(1)
})

test('a Node that somebody deletes takes its NodeClaim and its VM along', async () => {
  const claim = await usedClaim()
  await world.operator.kubectl(['delete', 'node', nodeOf(claim), '--wait=false'])
  await untilGone(claim)
  await world.untilRunning(1)
})

test('a Node that only bears the provider id of a VM stays when the VM goes, and is reported', async () => {
  const claim = await usedClaim()
  const { spec } = await world.operator.api<{ spec: { providerID: string } }>('GET', `/api/v1/nodes/${nodeOf(claim)}`)
  await world.apply({
    apiVersion: 'v1',
    kind: 'Node',
    // As a kubelet of ours that registered under another name: a provider id proves nothing.
    metadata: { name: 'double', labels: { 'karpenter.sh/nodepool': 'general' } },
    spec: { providerID: spec.providerID },
  })
  await world.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'on-double', namespace: 'default' },
    // No kubelet ends it.
    spec: { nodeName: 'double', terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'pause' }] },
  })
  await world.until('the Node is reported', async () => (await eventsOf('ForeignProviderId', 'double')).length > 0)
  await deleteUsedClaim()
  await untilGone(claim)
  const left = (await world.list('nodes')).filter(({ metadata }) => metadata.name === 'double')
  expect(left.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined])
  await world.operator.kubectl(['delete', 'pod', 'on-double', '--force', '--grace-period=0'])
  await world.operator.kubectl(['delete', 'node', 'double'])
  await world.untilRunning(1)
})

test('a node whose VM somebody deleted is not drained once it is silent', async () => {
  const claim = await usedClaim()
  await world.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'protected', namespace: 'default', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
    spec: { nodeName: nodeOf(claim), containers: [{ name: 'main', image: 'pause' }] },
  })
  await world.operator.simulator('POST', `/vms/${nodeOf(claim)}/delete`)
  await world.untilSilent(nodeOf(claim))
  await deleteUsedClaim()
  await untilGone(claim)
  const history = JSON.stringify(await lifecycle(claim).fetchHistory())
  expect(history).toContain('findInstance')
  expect(await eventsOf('FailedDraining', nodeOf(claim))).toEqual([])
  expect((await eventsOf('Disrupted', 'protected')).map(({ message }) => message)).toEqual([
    `Deleting the pod: the VM of its node ${nodeOf(claim)} is gone`,
  ])
  await world.untilRunning(1)
})

test.each([
  ['while its VM boots', 'Launched', 60_000, []],
  ['while its Node has a startup taint', 'Registered', 0, [{ key: 'not-yet', effect: 'NoSchedule' }]],
  ['while it rests', 'Initialized', 0, []],
])('a NodeClaim that is deleted %s begins to terminate at once', async (_, phase, bootMs, startupTaints) => {
  await world.timing({ bootMs })
  await world.apply(
    standaloneClaim(phase.toLowerCase(), {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5'] }],
      taints: [{ key: 'standalone', effect: 'NoSchedule' }],
      startupTaints,
    }),
  )
  const claim = await world.until(`the NodeClaim is ${phase}`, async () =>
    (await world.list('nodeclaims')).find(
      ({ metadata, status }) =>
        metadata.name === phase.toLowerCase() &&
        status?.conditions?.some(({ type, status: is }) => type === phase && is === 'True'),
    ),
  )
  const deletedAt = Date.now()
  await world.operator.api('DELETE', `/apis/karpenter.sh/v1/nodeclaims/${claim.metadata.name}`)
  const begun = await world.until('the drain begins', async () => {
    const { events } = await lifecycle(claim).fetchHistory()
    return events?.find((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'drain')
  })
  // What it waits for comes after a minute, or never. A second is what it should take; the machine may be busy.
  expect(Number(begun.eventTime?.seconds) * 1000 + Number(begun.eventTime?.nanos) / 1e6 - deletedAt).toBeLessThan(
    patient(20_000),
  )
  await world.timing({ bootMs: 0 })
  await untilGone(claim)
  // Somebody wanted it so: nothing went wrong, ready or not.
  expect(await endOf(world, claim.metadata.name)).toMatchObject({
    status: 'COMPLETED',
    outcome: 'deleted',
    reason: 'deleted by somebody',
    vm: expect.stringMatching(/^Standard_D2s_v5 spot westus2-\d$/),
  })
})
