import { maintenanceScheduleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool(), nodeClass())
})

afterAll(() => world?.stop())

interface SeenPool extends Seen {
  readonly metadata: Seen['metadata'] & { readonly generation: number }
  readonly status?: Seen['status'] & {
    readonly resources?: Readonly<Record<string, string>>
    readonly nodes?: number
    readonly nodeClassObservedGeneration?: number
  }
}

const pools = '/apis/karpenter.sh/v1/nodepools'
const poolOf = (name: string) => world.operator.api<SeenPool>('GET', `${pools}/${name}`)
const conditionOf = ({ status }: Seen, wanted: string) => status?.conditions?.find(({ type }) => type === wanted)
const health = (pool: SeenPool) => conditionOf(pool, 'NodeRegistrationHealthy')
const patch = (path: string, body: unknown) => world.operator.api('PATCH', path, body)

async function claimsOf(pool: string): Promise<readonly Seen[]> {
  return (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool)
}

/** Pods that only this pool's nodes may take, each on a node of its own. */
const podsOf = (pool: string, replicas: number) =>
  deployment({ name: pool, replicas, apart: true, nodeSelector: { 'karpenter.sh/nodepool': pool } })

async function untilRunning(pool: string, count: number): Promise<void> {
  await world.until(`${count} pods of ${pool} run`, async () => (await world.running(pool)) === count)
}

/** Nothing of a pool's nodes is left: no NodeClaim, no Node, no VM. */
async function untilGone(pool: string): Promise<void> {
  const isOwn = ({ name }: { readonly name: string }) => name.startsWith(`aks-${pool}-`)
  await world.until(`nothing is left of ${pool}`, async () => {
    const nodes = (await world.list('nodes')).map(({ metadata }) => metadata)
    const { virtualMachines } = await world.azure()
    return (await claimsOf(pool)).length === 0 && !nodes.some(isOwn) && !virtualMachines.some(isOwn)
  })
}

const deleteDeployment = (name: string) => world.operator.kubectl(['delete', 'deployment', name])

/** A pool whose nodes nobody disrupts. */
async function quietPool(name: string): Promise<void> {
  await world.apply(nodePool({ name, consolidateAfter: 'Never', budget: '0' }))
  await world.untilReady(name)
}

describe('what a pool counts', () => {
  /** Each new `status.resources`, with the time at which it was seen, until `look` says that it is enough. */
  async function changes(name: string, look: (pool: SeenPool) => boolean): Promise<readonly number[]> {
    const times: number[] = []
    let last = JSON.stringify((await poolOf(name)).status?.resources)
    await world.until(`the resources of ${name}`, async () => {
      const pool = await poolOf(name)
      const now = JSON.stringify(pool.status?.resources)
      if (now !== last) times.push(Date.now())
      last = now
      return look(pool)
    })
    return times
  }

  /** The sum of the nodes as kubectl would add it up. */
  async function capacity(): Promise<{ readonly cpu: number; readonly nodes: number }> {
    const { items } = await world.operator.api<{
      items: { status: { capacity: Record<string, string> } }[]
    }>('GET', '/api/v1/nodes')
    return { cpu: items.reduce((sum, { status }) => sum + Number(status.capacity['cpu']), 0), nodes: items.length }
  }

  test('a pool without nodes has none of everything, and nothing is known of its registrations', async () => {
    const pool = await world.until('zeros', async () => {
      const found = await poolOf('general')
      return found.status?.resources !== undefined && health(found) !== undefined && found
    })
    expect(pool.status?.resources).toEqual({ cpu: '0', memory: '0', pods: '0', 'ephemeral-storage': '0', nodes: '0' })
    expect(pool.status?.nodes).toBe(0)
    expect(health(pool)).toMatchObject({ status: 'Unknown', reason: 'AwaitingReconciliation' })
    expect(pool.status?.nodeClassObservedGeneration).toBe(1)
  })

  test('it counts up to three nodes and back to none, with at most one write in 5 s', async () => {
    await world.apply(podsOf('general', 3))
    const up = await changes('general', ({ status }) => status?.nodes === 3)
    await untilRunning('general', 3)
    const runningAt = Date.now()
    const total = await capacity()
    expect(total.nodes).toBe(3)
    await changes('general', ({ status }) => status?.resources?.['cpu'] === String(total.cpu))
    // Without news from the cluster the next count would be an hour away.
    expect(Date.now() - runningAt).toBeLessThan(120_000)
    // What registrations say is a write of its own, and until a Node says its memory the pool counts with the size's.
    const memory = /^[1-9]\d*(Ki|Mi|Gi)$/
    const pool = await world.until('registrations are healthy, and memory is what the Nodes tell', async () => {
      const found = await poolOf('general')
      return health(found)?.status === 'True' && memory.test(found.status?.resources?.['memory'] ?? '') && found
    })
    expect(pool.status?.resources?.['nodes']).toBe('3')
    expect(pool.metadata.annotations).not.toHaveProperty('joiner.sh/registrations')
    expect(await world.operator.kubectl(['get', 'nodepool', 'general', '-o', 'wide'])).toMatch(
      /NODES[\s\S]*general\s+default\s+3\s+True/,
    )

    await world.scale('general', 0)
    const down = await changes('general', ({ status }) => status?.nodes === 0)
    const times = [...up, ...down]
    // A write may be seen late, and the next one at once. Without the rule they are a second apart.
    for (const [i, at] of times.entries()) if (i > 0) expect(at - (times[i - 1] ?? 0)).toBeGreaterThan(3000)
    expect((await poolOf('general')).status?.resources).toMatchObject({ cpu: '0', memory: '0', nodes: '0' })
    await untilGone('general')
  })

  test('another spec of the pool or of its node class begins the registrations again', async () => {
    expect(health(await poolOf('general'))?.status).toBe('True')
    await patch(`${pools}/general`, { spec: { limits: { cpu: '1000' } } })
    await world.until('Unknown', async () => health(await poolOf('general'))?.status === 'Unknown')
    await patch('/apis/karpenter.azure.com/v1beta1/aksnodeclasses/default', { spec: { tags: { team: 'a' } } })
    await world.until(
      'the new generation is seen',
      async () => (await poolOf('general')).status?.nodeClassObservedGeneration === 2,
    )
  })
})

describe('registration health', () => {
  /** As if the VMs of these claims had been accepted twenty minutes ago. */
  async function age(claims: readonly Seen[]): Promise<void> {
    const lastTransitionTime = `${new Date(Date.now() - 20 * 60_000).toISOString().slice(0, 19)}Z`
    for (const { metadata, status } of claims) {
      const conditions = status?.conditions?.map((c) => (c.type === 'Launched' ? { ...c, lastTransitionTime } : c))
      await patch(`/apis/karpenter.sh/v1/nodeclaims/${metadata.name}/status`, { status: { conditions } })
    }
  }

  const restart = async () => {
    await world.crash()
    world.startJoiner()
  }

  test('two nodes that do not join make it False; it takes three that do, restarts or not, to make it True', async () => {
    await quietPool('sick')
    await world.fault({ kind: 'neverJoins', count: 2 })
    await world.apply(podsOf('sick', 2))
    const lost = await world.until('two claims are launched', async () => {
      const claims = await claimsOf('sick')
      const launched = claims.filter(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === 'Launched' && is === 'True'),
      )
      return launched.length === 2 && launched
    })
    await age(lost)
    await restart()
    const condition = await world.until('NodeRegistrationHealthy is False', async () => {
      const found = health(await poolOf('sick'))
      return found?.status === 'False' && found
    })
    expect(condition).toMatchObject({ reason: 'RegistrationFailed', message: 'Failed to register node' })
    await untilRunning('sick', 2)
    expect(health(await poolOf('sick'))?.status).toBe('False')
    const ready = conditionOf(await poolOf('sick'), 'Ready')
    expect(ready?.status).toBe('True')

    await restart()
    await world.scale('sick', 3)
    await world.until('it is True', async () => health(await poolOf('sick'))?.status === 'True')
    // Of what changes while no process bridges, as right after the first restart, no event is made.
    await world.until('an event says it', async () =>
      (await world.list('events')).some(
        ({ reason, involvedObject, message }) =>
          `${reason} ${involvedObject?.name}` === 'NodeRegistrationHealthy sick' && message?.includes('False -> True'),
      ),
    )
    await untilRunning('sick', 3)
    await world.until('the new process counts on', async () => (await poolOf('sick')).status?.nodes === 3)
    await deleteDeployment('sick')
    await world.operator.kubectl(['delete', 'nodepool', 'sick'])
    await untilGone('sick')
  })
})

describe('drift from a pool', () => {
  const hash = 'karpenter.sh/nodepool-hash'
  const version = 'karpenter.sh/nodepool-hash-version'
  const path = (claim: Seen | undefined) => `/apis/karpenter.sh/v1/nodeclaims/${claim?.metadata.name}`
  const driftOf = (claim: Seen) => conditionOf(claim, 'Drifted')?.reason

  /** A change shows on the first two claims within seconds: long before the next pass over everything. */
  async function untilDrifted(pool: string, wanted: readonly (string | undefined)[]): Promise<void> {
    const look = async () => JSON.stringify((await claimsOf(pool)).map(driftOf)) === JSON.stringify(wanted)
    await world.until(`the claims of ${pool} have drifted: ${wanted.join()}`, look, 30_000)
  }

  const template = (change: object) => patch(`${pools}/hashed`, { spec: { template: change } })

  test('an edited template, and edited requirements, show on the claims, and no more when they are taken back', async () => {
    await quietPool('hashed')
    await world.apply(podsOf('hashed', 2))
    await untilRunning('hashed', 2)
    await untilDrifted('hashed', [undefined, undefined])
    await template({ metadata: { labels: { team: 'a' } } })
    await untilDrifted('hashed', ['NodePoolDrifted', 'NodePoolDrifted'])
    await template({ metadata: null })
    await untilDrifted('hashed', [undefined, undefined])
    const { requirements } = nodePool().spec.template.spec
    await template({
      spec: { requirements: [{ key: 'karpenter.azure.com/sku-family', operator: 'NotIn', values: ['D'] }] },
    })
    await untilDrifted('hashed', ['RequirementsDrifted', 'RequirementsDrifted'])
    await template({ spec: { requirements } })
    await untilDrifted('hashed', [undefined, undefined])
  })

  test('a node that is made right after an edit has not drifted', async () => {
    await template({ metadata: { labels: { team: 'b' } } })
    await world.scale('hashed', 3)
    await untilRunning('hashed', 3)
    const reasons = async () => (await claimsOf('hashed')).map(driftOf)
    await world.until('the older ones have', async () => (await reasons()).filter(Boolean).length === 2)
    const pool = await poolOf('hashed')
    const made = (await claimsOf('hashed')).find((claim) => driftOf(claim) === undefined)
    expect(made?.metadata.annotations?.[hash]).toBe(pool.metadata.annotations?.[hash])
    await template({ metadata: null })
    await world.until('now it alone has', async () => (await reasons()).filter(Boolean).length === 1)
    await world.scale('hashed', 2)
    await world.operator.kubectl(['delete', 'nodeclaim', made?.metadata.name ?? ''])
    await world.until('it is gone', async () => (await claimsOf('hashed')).length === 2)
    await untilRunning('hashed', 2)
  })

  test('after another version of the hash claims take the new one, but for those that have drifted', async () => {
    const own = (await poolOf('hashed')).metadata.annotations ?? {}
    const [drifted, other] = await claimsOf('hashed')
    const old = (value: string) => ({ metadata: { annotations: { [hash]: value, [version]: 'v2' } } })
    const schedule = world.temporal.schedule.getHandle(maintenanceScheduleId(clusterName))
    // A pass over all pools between these writes would see half of what they set up. After one the next is minutes away.
    await schedule.pause()
    await maintained(world)
    await patch(path(other), old('1'))
    await patch(path(drifted), old('2'))
    await patch(`${pools}/hashed`, old('1'))
    await world.until('one has drifted by the older hash', async () => {
      const claims = await claimsOf('hashed')
      return claims.every((claim) => (driftOf(claim) !== undefined) === (claim.metadata.uid === drifted?.metadata.uid))
    })
    await schedule.unpause()
    // A change of spec that no hash sees makes Joiner look at the pool.
    await patch(`${pools}/hashed`, { spec: { weight: 1 } })
    await world.until('the pool has its hash', async () => {
      const { annotations } = (await poolOf('hashed')).metadata
      return annotations?.[version] === own[version] && annotations?.[hash] === own[hash]
    })
    const stamps = async (claim: Seen | undefined) => {
      const { annotations } = (await world.operator.api<Seen>('GET', path(claim))).metadata
      return [annotations?.[hash], annotations?.[version]]
    }
    expect(await stamps(other)).toEqual([own[hash], own[version]])
    expect(await stamps(drifted)).toEqual(['2', own[version]])
  })
})

describe('what disruption goes by', () => {
  const lastEvents = async (pool: string) =>
    (await claimsOf(pool)).map(({ status }) => (status as { lastPodEventTime?: string } | undefined)?.lastPodEventTime)

  test('a restart is no pod event, and pods are reported what their annotation does', async () => {
    // Binding the pods that a node was made for is no event; binding others is.
    const count = await world.running('hashed')
    // Right after a node's initialization no event is recorded: consolidateAfter counts from there.
    const isOlder = (claim: Seen) =>
      Date.parse(conditionOf(claim, 'Initialized')?.lastTransitionTime ?? '') < Date.now() - 11_000
    await world.until('that is over', async () => (await claimsOf('hashed')).every(isOlder))
    await world.operator.kubectl(['delete', 'pods', '--selector', 'app=hashed', '--wait=true'])
    await untilRunning('hashed', count)
    const before = await world.until('pods were bound', async () => {
      const times = await lastEvents('hashed')
      return times.every((time) => time !== undefined) && times
    })
    const [pod, other] = (await world.list('pods')).filter(({ metadata }) => metadata.labels?.['app'] === 'hashed')
    const annotate = (name: string | undefined, value: string) =>
      world.operator.kubectl(['annotate', 'pod', name ?? '', `karpenter.sh/do-not-disrupt=${value}`])
    await annotate(pod?.metadata.name, '1d')
    await annotate(other?.metadata.name, '24h')
    await world.crash()
    world.startJoiner()
    const reported = (name: string | undefined, reason: string) =>
      world.until(`${reason} is told of ${name}`, async () =>
        (await world.list('events')).find((event) => event.reason === reason && event.involvedObject?.name === name),
      )
    expect((await reported(pod?.metadata.name, 'InvalidDoNotDisruptAnnotation')).message).toContain('"1d"')
    expect((await reported(other?.metadata.name, 'DoNotDisruptUntil')).message).toMatch(/will elapse at \d{4}-/)
    expect(await lastEvents('hashed')).toEqual(before)
    await world.operator.kubectl(['annotate', 'pods', '--selector', 'app=hashed', 'karpenter.sh/do-not-disrupt-'])
  })
})

describe('a pool is deleted', () => {
  const budget = (pool: string) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: pool, namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: pool } } },
  })

  async function untilDraining(pool: string, count: number): Promise<void> {
    await world.until(`${count} nodes of ${pool} wait for the budget`, async () => {
      const claims = await claimsOf(pool)
      const held = claims.filter(({ status }) =>
        status?.conditions?.some(({ type, message }) => type === 'Drained' && message.includes('PDB')),
      )
      return claims.length === count && held.length === count
    })
  }

  test('in the background: its nodes drain as ever, and nothing of it is left', async () => {
    await world.apply(budget('hashed'))
    await world.operator.kubectl(['delete', 'nodepool', 'hashed'])
    await untilDraining('hashed', 2)
    expect((await world.list('nodepools')).map(({ metadata }) => metadata.name)).not.toContain('hashed')
    expect((await world.azure()).virtualMachines).toHaveLength(2)
    expect(await world.running('hashed')).toBe(2)
    await world.operator.kubectl(['delete', 'pdb', 'hashed'])
    await untilGone('hashed')
    expect(await world.running('hashed')).toBe(0)
    await deleteDeployment('hashed')
  })

  test('in the foreground: it stays until its nodes are gone, and gets no new ones', async () => {
    await quietPool('slow')
    await world.apply(budget('slow'), podsOf('slow', 2))
    await untilRunning('slow', 2)
    await world.operator.kubectl(['delete', 'nodepool', 'slow', '--cascade=foreground', '--wait=false'])
    await untilDraining('slow', 2)
    await world.scale('slow', 3)
    await world.until('Joiner has no place for the third pod', async () =>
      (await world.list('events')).some(
        ({ reason, involvedObject, reportingInstance }) =>
          reason === 'FailedScheduling' &&
          reportingInstance === 'joiner' &&
          involvedObject?.name?.startsWith('slow-') === true,
      ),
    )
    expect(await claimsOf('slow')).toHaveLength(2)
    expect((await poolOf('slow')).metadata.deletionTimestamp).toBeDefined()
    await world.operator.kubectl(['delete', 'pdb', 'slow'])
    await world.until('the pool is gone', async () =>
      (await world.list('nodepools')).every(({ metadata }) => metadata.name !== 'slow'),
    )
    await untilGone('slow')
    await deleteDeployment('slow')
  })

  test('and its nodes are orphaned: they stay, as asked for, until they are deleted', async () => {
    await quietPool('left')
    await world.apply(podsOf('left', 1))
    await untilRunning('left', 1)
    await world.operator.kubectl(['delete', 'nodepool', 'left', '--cascade=orphan'])
    const [claim] = await claimsOf('left')
    expect(claim?.metadata.deletionTimestamp).toBeUndefined()
    expect(await world.running('left')).toBe(1)
    await world.operator.kubectl(['delete', 'nodeclaim', claim?.metadata.name ?? ''])
    await untilGone('left')
    await deleteDeployment('left')
  })
})

test('a static pool says that its gate is off; scale writes it, but not a dynamic one', async () => {
  const pool = nodePool({ name: 'static' })
  const spec = { ...pool.spec, replicas: 1 }
  await world.apply({ ...pool, spec })
  const reported = await world.until('it is not Ready', async () => {
    const conditions = (await poolOf('static')).status?.conditions ?? []
    const ready = conditions.find(({ type }) => type === 'Ready')
    return ready?.status === 'False' && conditions.find(({ type }) => type === 'ValidationSucceeded')
  })
  expect(reported).toMatchObject({ status: 'False', reason: 'NodePoolValidationFailed' })
  expect(reported.message).toMatch(/spec\.replicas: the gate StaticCapacity is off/)
  await world.operator.kubectl(['scale', 'nodepool', 'static', '--replicas=2'])
  const scale = await world.operator.api('GET', `${pools}/static/scale`)
  expect(scale).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 0 } })
  await expect(world.operator.kubectl(['scale', 'nodepool', 'general', '--replicas=2'])).rejects.toThrow(
    /Cannot transition NodePool/,
  )
  expect(await claimsOf('static')).toEqual([])
})
