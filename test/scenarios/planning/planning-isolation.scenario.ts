import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { hostileShapes } from '../../hostile/expensive-shapes.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, isFast, test } from '../scenario.ts'

let world: World

const faulty = `--import=${new URL('../../faults/preload.ts', import.meta.url).href}`
const team = 'example.com/team'

/** A NodePool for pods that select its team. */
function teamPool(name: string) {
  const { spec, ...pool } = nodePool({ name })
  const { template } = spec
  const requirements = [...template.spec.requirements, { key: team, operator: 'In', values: [name] }]
  // Pods that may go elsewhere do.
  return { ...pool, spec: { ...spec, weight: 1, template: { spec: { ...template.spec, requirements } } } }
}

const general = nodePool()

/** Refuses NodeClaims of one NodePool, as a policy of somebody else may. */
const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'no-red-nodes' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: ['karpenter.sh'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodeclaims'] },
      ],
    },
    validations: [
      { expression: "object.metadata.labels['karpenter.sh/nodepool'] != 'red'", message: 'no red nodes here' },
    ],
  },
}
const binding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'no-red-nodes' },
  spec: { policyName: 'no-red-nodes', validationActions: ['Deny'] },
}

beforeAll(async () => {
  world = await World.start()
  // A busy machine makes 66 pods in some seconds.
  world.startJoiner('joiner', { BATCH_IDLE_DURATION: '5s', BATCH_MAX_DURATION: '20s' })
  await world.apply(
    policy,
    binding,
    nodeClass(),
    { ...general, spec: { ...general.spec, weight: 50 } },
    teamPool('red'),
    teamPool('green'),
    teamPool('blue'),
  )
  await Promise.all(['general', 'red', 'green', 'blue'].map((name) => world.untilReady(name)))
})

afterAll(() => world?.stop())

const runs = (app: string, count: number) =>
  world.until(`${count} pods of ${app} run`, async () => (await world.running(app)) === count, 120_000)

/** Names of pods of which Joiner has told something. */
const reported = (what: string, reason: string, text: string, count: number) =>
  world.until(what, async () => {
    const events = (await world.list('events')).filter(
      (event) => event.reportingInstance === 'joiner' && event.reason === reason && event.message?.includes(text),
    )
    const names = new Set(events.map(({ involvedObject }) => involvedObject?.name))
    return names.size >= count && names
  })

/** A deployment of pods that need nodes of their own, on which no pod that fails has room. */
const beside = (name: string, replicas: number) =>
  deployment({ name, replicas, cpu: '1', apart: true, nodeSelector: { [team]: 'blue' } })

/** A deployment of pods that Joiner's scheduler fails for when it runs with test/faults. */
function failing(name: string, replicas: number) {
  const plain = deployment({ name, replicas, cpu: '3', nodeSelector: { [team]: 'blue' } })
  const { template } = plain.spec
  const labels = { ...template.metadata.labels, fault: 'exception' }
  return { ...plain, spec: { ...plain.spec, template: { ...template, metadata: { labels } } } }
}

/** Whose NodeClaims are not refused. */
const good = isFast ? 20 : 50

test('16 NodeClaims that are refused keep none of the others of their pass from being created', async () => {
  await world.apply(
    deployment({ name: 'red', replicas: 16, cpu: '3', apart: true, nodeSelector: { [team]: 'red' } }),
    // Of another team, or they would share the nodes of the first.
    deployment({ name: 'good', replicas: good, cpu: '1', apart: true, nodeSelector: { [team]: 'green' } }),
  )
  await runs('good', good)
  const [first, second] = (await world.plans()).filter(({ nodeClaims }) => nodeClaims > 0)
  // Pods that ask for more come first: so did the claims that were refused.
  expect(first).toMatchObject({ pods: 16 + good, nodeClaims: 16 + good })
  const nextPass = Date.parse(second?.time ?? new Date().toISOString())
  const created = (await world.list('nodeclaims')).map(({ metadata }) => Date.parse(metadata.creationTimestamp))
  expect(created).toHaveLength(good)
  expect(created.filter((time) => time > nextPass)).toEqual([])
  await reported('the refused pods are reported why', 'FailedScheduling', 'no red nodes here', 16)
  expect(await world.running('red')).toBe(0)
})

test('pods with far too many constraints keep no others from running', async () => {
  const names = ['spreads that give way', 'required spreads', 'labels']
  const hostile = hostileShapes.filter(({ name }) => names.includes(name))
  expect(hostile).toHaveLength(3)
  // In virtual time fewer do: they are too many as well.
  const constraints = isFast ? 400 : 4000
  for (const [at, shape] of hostile.entries()) {
    const { labels = {}, spec = {} } = shape.make(constraints, at)
    await world.operator.api('POST', '/api/v1/namespaces/default/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `hostile-${at}`, labels },
      spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '3' } } }], ...spec },
    })
  }
  await world.apply(deployment({ name: 'innocent', replicas: 5, cpu: '3' }))
  await runs('innocent', 5)
  await reported('preferences are dropped', 'PreferencesDropped', `${constraints - 64} of ${constraints} left out`, 1)
  await reported('what is required is too much', 'FailedScheduling', 'are too many, at most', 2)
})

describe('a pod that the scheduler fails for', () => {
  beforeAll(async () => {
    await world.operator.kubectl(['delete', 'pod', 'hostile-0', 'hostile-1', 'hostile-2', '--wait=false'])
    await world.crash()
    world.startJoiner('joiner', { NODE_OPTIONS: faulty })
  })

  test('is quarantined with those of its shape, and named; the pods beside it run', async () => {
    await world.apply(failing('failing', 2), beside('beside', 3))
    await runs('beside', 3)
    const names = await reported('both are named', 'Quarantined', 'scheduler ended by exception: this pod cannot', 2)
    expect([...names].every((name) => name?.startsWith('failing-'))).toBe(true)
    expect(await world.joiner('blocked', 'objects', 'list')).toMatch(
      /^Pod\/default\/failing-\S+ .*this pod cannot be planned/m,
    )
    expect(await world.joiner('status')).toMatch(/QUARANTINED {2}Pod\/default\/failing-/)
    expect(await world.running('failing')).toBe(0)
  })

  test('is held after a restart of Joiner', async () => {
    await world.crash()
    // This one could plan it.
    world.startJoiner()
    await world.apply(beside('later', 2))
    await runs('later', 2)
    expect(await world.running('failing')).toBe(0)
    const entries = JSON.parse(
      await world.joiner('blocked', 'objects', 'list', '--output', 'json'),
    ) as readonly object[]
    expect(entries).toHaveLength(1)
  })

  test('runs when the quarantine is cleared', async () => {
    const [{ object }] = JSON.parse(await world.joiner('blocked', 'objects', 'list', '--output', 'json')) as [
      { object: string },
    ]
    await expect(world.joiner('blocked', 'objects', 'clear', 'Pod/default/other')).rejects.toMatchObject({ code: 1 })
    await expect(world.joiner('blocked', 'objects', 'clear')).rejects.toMatchObject({ code: 2 })
    expect(await world.joiner('blocked', 'objects', 'clear', object)).toContain('1 object cleared')
    await runs('failing', 2)
    expect(await world.joiner('blocked', 'objects', 'list')).toContain('nothing is quarantined')
  })
})
