// Launches of an AKSNodeClass whose requests Azure refuses whatever the size (docs/adr/0037-refusals-of-a-class.md).
import { randomUUID } from 'node:crypto'
import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, test, vi } from 'vitest'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { inValues, launch, newClaim, onDemand, world } from '../../../test/fakes/launch-world.ts'
import { condition, nodeClassJson, poolJson } from '../../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { withRefusal } from './class-refusals.ts'

useFakeTime()

const second = 1000
const minute = 60 * second

interface Put {
  readonly size: string
  readonly zone: string
  readonly capacityType: string
  readonly vm: string
  readonly atMs: number
}

/** What Azure says to a PUT; undefined: it makes the VM. */
type Answer = (put: Put) => { readonly status: number; readonly error: Json } | undefined

const readyClass = (generation: number) => {
  const types = [
    'KubernetesVersionReady',
    'ImagesReady',
    'SubnetsReady',
    'ValidationSucceeded',
    'LocalDNSReady',
    'Ready',
  ]
  const conditions = types.map((type) => ({ ...condition(type), observedGeneration: generation }))
  return nodeClassJson('default', { metadata: { generation }, status: { conditions } })
}

/** A cluster with so many new NodeClaims, families of which each has sizes of 2 to 64 vCPUs, and Azure's answers. */
function fleet(answers: { answer: Answer }, claims: readonly Json[] = [newClaim()]) {
  const made = world(claims[0], readyClass(1))
  const { cluster, azure, sizes, deps } = made
  for (const claim of claims) cluster.put('nodeclaims', claim)
  const [first] = sizes.values()
  if (first === undefined) throw new Error('no sizes')
  for (const series of ['Das', 'Dds', 'Eas', 'Es', 'Ds'])
    for (const vCpus of [2, 4, 8, 16, 32, 64])
      sizes.set(`Standard_${series}${vCpus}_v5`, {
        ...first,
        name: `Standard_${series}${vCpus}_v5`,
        family: `standard${series}v5Family`,
        vCpus,
        memoryGib: 4 * vCpus,
      })
  const puts: Put[] = []
  const startedMs = Date.now()
  azure.intercept((request, body) => {
    const vm = /^PUT virtualMachines\/(.*)$/.exec(request)?.[1]
    if (vm === undefined) return undefined
    const { properties, zones = ['0'] } = body as { properties: Record<string, unknown>; zones?: string[] }
    const { vmSize: size } = properties['hardwareProfile'] as { vmSize: string }
    const capacityType = properties['priority'] === 'Spot' ? 'spot' : 'on-demand'
    const put = { size, zone: zones[0] ?? '0', capacityType, vm, atMs: Date.now() - startedMs }
    puts.push(put)
    const refused = answers.answer(put)
    return refused && { status: refused.status, body: { error: refused.error } }
  })
  /** What the lifecycle of a claim does until its VM is there, or it is given up. */
  const ends = new Map<string, string>()
  const live = async ({ metadata }: Json) => {
    const { name, uid } = metadata as { name: string; uid: string }
    for (let [attempt, tries] = [1, 1]; ; tries += 1)
      try {
        const outcome = await asAttempt(tries, () =>
          launch(deps, { claim: { name, uid }, attempt }, new AbortController().signal),
        )
        if (outcome.kind !== 'capacity') return ends.set(name, outcome.kind)
        attempt += 1
        tries = 0
      } catch (error) {
        const delay = error instanceof ApplicationFailure ? (error.nextRetryDelay as number | undefined) : undefined
        await new Promise((resolve) => setTimeout(resolve, delay ?? 500))
      }
  }
  const network: { beforePools?: () => Promise<void> } = {}
  const pools = deps.network.pools.bind(deps.network)
  vi.spyOn(deps.network, 'pools').mockImplementation(async () => {
    await network.beforePools?.()
    return pools()
  })
  return {
    ...made,
    network,
    puts,
    ends,
    live: (some: readonly Json[] = claims) => void some.map(live),
    classMark: () => [...deps.unavailable.marks.values()].find(({ kind }) => kind === 'class'),
    kinds: () => [...deps.unavailable.marks.values()].map(({ kind }) => kind),
    conditionOf: (resource: 'nodeclaims' | 'aksnodeclasses', name: string, type: string) =>
      cluster.object(resource, name)?.status.conditions.find((one) => one.type === type),
  }
}

const claimsNamed = (count: number, change: Json = {}) =>
  Array.from({ length: count }, (_, index) =>
    newClaim({ ...change, metadata: { name: `default-${index}x`, uid: `uid-${index}` } }),
  )

/** A parameter that no version of Joiner knows. */
const unknown = `properties.${randomUUID().replaceAll(/[^a-z]/g, '')}`
const refusal = (): ReturnType<Answer> => ({
  status: 400,
  error: {
    code: 'InvalidParameter',
    target: unknown,
    message: `The value of parameter ${unknown} is invalid.`,
  },
})
const priceOf = (size: string) => Number(/(\d+)/.exec(size)?.[1]) * 0.05

describe('a parameter that Azure refuses for every size', () => {
  test('marks the class, and 3 NodeClaims send at most 12 PUTs in 10 minutes, none for a dear size', async () => {
    const claims = claimsNamed(3)
    const { live, puts, classMark, kinds, conditionOf, reported } = fleet({ answer: refusal }, claims)
    live()
    await pass(10 * minute)
    expect(puts.length).toBeLessThanOrEqual(12)
    expect(puts.length).toBeGreaterThan(5)
    expect(kinds()).toEqual(['class'])
    expect(classMark()).toMatchObject({ nodeClass: 'default', cause: expect.stringContaining(unknown) as string })
    for (const { size } of puts) expect(priceOf(size)).toBeLessThanOrEqual(0.35)
    for (const name of ['default-0x', 'default-1x', 'default-2x'])
      expect(conditionOf('nodeclaims', name, 'Launched')).toMatchObject({
        status: 'Unknown',
        message: expect.stringContaining(`target ${unknown}`) as string,
      })
    expect(conditionOf('aksnodeclasses', 'default', 'LaunchHealthy')).toMatchObject({
      status: 'False',
      message: expect.stringContaining(unknown) as string,
    })
    expect(reported.filter(({ reason }) => reason === 'CommonLaunchFailure')).toMatchObject([
      { about: 'AKSNodeClass/default', message: expect.stringContaining(unknown) as string },
    ])
  })

  test('100 NodeClaims send at most 100 PUTs in the first second, and 12 after', async () => {
    const { live, puts, kinds } = fleet({ answer: refusal }, claimsNamed(100))
    live()
    await pass(10 * minute)
    const early = puts.filter(({ atMs }) => atMs < second).length
    expect(early).toBeLessThanOrEqual(100)
    expect(puts.length - early).toBeLessThanOrEqual(12)
    expect(kinds()).toEqual(['class'])
  })

  test('is probed after 30 s, then twice as long, each time with another family, the cheapest first', async () => {
    const { live, puts } = fleet({ answer: refusal })
    live()
    await pass(14 * minute)
    const probes = puts.slice(2)
    const [first = 0] = puts.slice(1).map(({ atMs }) => atMs)
    expect(probes.map(({ atMs }) => Math.round((atMs - first) / second))).toEqual([30, 90, 210, 450])
    const family = (size: string) => /^Standard_([A-Za-z]+)/.exec(size)?.[1]
    const tried = [...new Set(puts.map(({ size }) => family(size)))]
    expect(tried.length).toBe(Math.min(puts.length, 6))
    expect(probes.map(({ size }) => priceOf(size))).toEqual(probes.map(() => 0.1))
  })

  test('a probe that Azure accepts marks the sizes that were refused before, and all others go at once', async () => {
    const claims = claimsNamed(10)
    const { live, puts, ends, deps, conditionOf } = fleet(
      { answer: ({ size }) => (/_(D\d|Das)/.test(size) ? refusal() : undefined) },
      claims,
    )
    live()
    await pass(25 * second)
    expect(ends.size).toBe(0)
    await pass(15 * second)
    expect([...ends.values()]).toEqual(Array(10).fill('launched'))
    const marks = [...deps.unavailable.marks.values()]
    expect(marks.every((mark) => mark.kind === 'size' && /_(D\d|Das)/.test(mark.instanceType))).toBe(true)
    expect(puts.filter(({ size }) => !/_(D\d|Das)/.test(size))).toHaveLength(10)
    expect(conditionOf('aksnodeclasses', 'default', 'LaunchHealthy')).toMatchObject({ status: 'True' })
  })

  test('a change of the class probes at once, with one launch, and ends the wait of all', async () => {
    const claims = claimsNamed(20)
    const answers: { answer: Answer } = { answer: refusal }
    const { live, puts, ends, cluster, kinds } = fleet(answers, claims)
    live()
    await pass(2 * minute)
    const before = puts.length
    cluster.put('aksnodeclasses', readyClass(2))
    await pass(5 * second)
    expect(puts.length).toBe(before + 1)
    answers.answer = () => undefined
    cluster.put('aksnodeclasses', readyClass(3))
    await pass(5 * second)
    expect([...ends.values()]).toEqual(Array(20).fill('launched'))
    // What was accepted had been refused before: the cause is over.
    expect(kinds()).toEqual([])
  })
})

describe('a refusal of one size that Azure does not name', () => {
  test('is tried with one launch before the others follow', async () => {
    const claims = claimsNamed(20)
    const { live, puts, ends, kinds } = fleet(
      { answer: ({ size }) => (size === 'Standard_D2s_v5' ? refusal() : undefined) },
      claims,
    )
    live()
    await pass(10 * second)
    expect([...ends.values()]).toEqual(Array(20).fill('launched'))
    expect(puts.filter(({ size }) => size === 'Standard_D2s_v5').length).toBeLessThanOrEqual(20)
    expect(kinds()).toEqual(['size'])
  })

  test('a launch that waits for its turn holds neither vCPUs nor a place in a reservation', async () => {
    const claims = claimsNamed(1)
    const { live, puts, deps, network } = fleet({ answer: refusal }, claims)
    const chosen = vi.spyOn(deps.reservations, 'choose')
    // Another launch is refused while this one has chosen its size and sends nothing yet.
    network.beforePools = async () => {
      const other = { nodeClass: 'default', instanceType: 'Standard_Es2_v5', family: 'f', capacityType: 'on-demand' }
      const words = { code: 'c', signature: 's', reason: 'SizeRefused', cause: 'c', turn: '', state: '' }
      await deps.unavailable.change((marks, nowMs) => withRefusal(marks, { ...other, ...words }, nowMs))
    }
    const released = vi.spyOn(deps.quota, 'release')
    const reserved = vi.spyOn(deps.quota, 'reserve')
    live()
    await pass(500)
    expect([puts.length, reserved.mock.calls.length]).toEqual([0, 1])
    expect(released.mock.invocationCallOrder.at(-1)).toBeGreaterThan(reserved.mock.invocationCallOrder.at(-1) ?? 0)
    expect(chosen.mock.lastCall).toEqual(['default-0x', undefined])
  })

  test('does not buy what is too dear, and says what, for how much, and which annotation', async () => {
    const requirements = [
      ...onDemand,
      inValues('node.kubernetes.io/instance-type', 'Standard_D2s_v5', 'Standard_Es64_v5'),
    ]
    const { live, puts, conditionOf, reported } = fleet({ answer: refusal }, claimsNamed(1, { requirements }))
    live()
    await pass(5 * minute)
    expect(puts.map(({ size }) => size)).toEqual(['Standard_D2s_v5'])
    const message = conditionOf('nodeclaims', 'default-0x', 'Launched')?.message
    expect(message).toMatch(
      /Standard_Es64_v5 \(on-demand\) for 3\.2 USD\/h .* 0\.3 USD\/h at most.*max-fallback-price-factor/,
    )
    expect(reported.find(({ reason }) => reason === 'LaunchFailed')?.message).toContain('Standard_Es64_v5')
  })

  test('does not buy what is too dear either when the plan left the cheap size out', async () => {
    const requirements = [
      ...onDemand,
      inValues('node.kubernetes.io/instance-type', 'Standard_D2s_v5', 'Standard_Es64_v5'),
    ]
    const later = newClaim({
      requirements: [...onDemand, inValues('node.kubernetes.io/instance-type', 'Standard_Es64_v5')],
      metadata: { name: 'later', uid: 'uid-later', annotations: { 'joiner.sh/left-out-sizes': 'Standard_D2s_v5' } },
    })
    const { live, puts, cluster } = fleet({ answer: refusal }, claimsNamed(1, { requirements }))
    live()
    await pass(10 * second)
    cluster.put('nodeclaims', later)
    live([later])
    await pass(2 * minute)
    expect(puts.map(({ size }) => size)).toEqual(['Standard_D2s_v5'])
  })
})

describe('a lack of capacity', () => {
  const noRoom = (): ReturnType<Answer> => ({ status: 409, error: { code: 'AllocationFailed', message: 'no room' } })
  const noSpot = (): ReturnType<Answer> => ({ status: 409, error: { code: 'SkuNotAvailable', message: 'no spot' } })
  const dearLast: Answer = ({ size }) => (size === 'Standard_Es64_v5' ? undefined : noRoom())
  const two = [...onDemand, inValues('node.kubernetes.io/instance-type', 'Standard_D2s_v5', 'Standard_Es64_v5')]
  const pool = (factor: string) =>
    poolJson('default', { metadata: { annotations: { 'joiner.sh/max-fallback-price-factor': factor } } })

  test.each<[string, Answer, readonly unknown[], string]>([
    ['of spot everywhere: on-demand', ({ capacityType }) => (capacityType === 'spot' ? noSpot() : undefined), [], ''],
    ['of the cheap size: the dear one, however dear', dearLast, two, 'Standard_Es64_v5'],
  ])('%s', async (_, answer, requirements, size) => {
    const { live, ends, puts } = fleet({ answer }, claimsNamed(1, { requirements }))
    live()
    await pass(minute)
    expect([...ends.values()]).toEqual(['launched'])
    expect(puts.at(-1)).toMatchObject({ capacityType: 'on-demand', ...(size === '' ? {} : { size }) })
  })

  test('does not raise the bound of a class: what is too dear after both is not bought', async () => {
    const sizes = ['Standard_D2s_v5', 'Standard_Das2_v5', 'Standard_Es64_v5']
    const requirements = [...onDemand, inValues('node.kubernetes.io/instance-type', ...sizes)]
    const { live, puts } = fleet(
      { answer: ({ size }) => (size === 'Standard_D2s_v5' ? noRoom() : refusal()) },
      claimsNamed(1, { requirements }),
    )
    live()
    await pass(5 * minute)
    expect(puts.map(({ size }) => size)).not.toContain('Standard_Es64_v5')
  })

  test.each([
    ['2', 0],
    ['40', 1],
  ])('is bounded by the annotation %s', async (factor, launched) => {
    const { live, ends, cluster, conditionOf } = fleet({ answer: dearLast }, claimsNamed(1, { requirements: two }))
    cluster.put('nodepools', pool(factor))
    await pass(0)
    live()
    await pass(2 * minute)
    expect(ends.size).toBe(launched)
    if (launched === 0)
      expect(conditionOf('nodeclaims', 'default-0x', 'Launched')?.message).toMatch(
        /Standard_Es64_v5 .* 0\.2 USD\/h at most/,
      )
  })
})
