import pino from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { nodeClassJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { decodeNodeClass } from '../../kubernetes/cache/decode.ts'
import { UnavailableOfferings } from '../capacity/unavailable-offerings.ts'
import { withAcceptance, withRefusal } from './class-refusals.ts'
import { keepTurn, type LaunchTurnDeps, stateOfClass, takeTurn, turnToTake } from './launch-turn.ts'

useFakeTime()

const refused = (instanceType: string) => ({
  nodeClass: 'default',
  instanceType,
  family: instanceType,
  capacityType: 'on-demand',
  code: 'InvalidParameter',
  signature: 'foo',
  reason: 'SizeRefused',
  cause: 'InvalidParameter: foo',
  turn: '',
  state: 's1',
})

/** A replica in a cluster. */
function replica(cluster: FakeCluster) {
  const unavailable = new UnavailableOfferings({
    client: cluster.client,
    namespace: 'joiner',
    now: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  unavailable.start()
  onTestFinished(() => unavailable.stop())
  const deps = { now: () => Date.now(), unavailable, catalogue: { size: () => undefined } } as unknown as LaunchTurnDeps
  const refuse = (size: string) => unavailable.change((marks, nowMs) => withRefusal(marks, refused(size), nowMs))
  return { deps, unavailable, refuse }
}

const launch = (turn: string) => ({ nodeClass: 'default', state: 's1', turn })
const as = { typeName: 'c', capacityType: 'on-demand' }

describe('the turn of a class', () => {
  test("is nobody's while nothing was refused, and nothing is written", async () => {
    const cluster = new FakeCluster()
    const { deps } = replica(cluster)
    expect(turnToTake(deps, launch(''))).toBeUndefined()
    expect(() => keepTurn(deps, launch(''))).not.toThrow()
    expect(cluster.object('configmaps', 'joiner-unavailable-offerings', 'joiner')).toBeUndefined()
  })

  test('is given to one of several replicas that ask for it at the same time', async () => {
    const cluster = new FakeCluster()
    const replicas = [replica(cluster), replica(cluster), replica(cluster)]
    await pass(0)
    await replicas[0]?.refuse('a')
    await replicas[0]?.refuse('b')
    await pass(30_000)
    for (const { deps } of replicas) expect(turnToTake(deps, launch(''))).toBeDefined()
    const taken = await ended(
      Promise.allSettled(replicas.map(({ deps }, index) => takeTurn(deps, launch(`t${index}`), as))),
    )
    expect(taken.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const winner = taken.findIndex(({ status }) => status === 'fulfilled')
    await pass(0)
    for (const { deps } of replicas) {
      expect(() => keepTurn(deps, launch(`t${winner}`))).not.toThrow()
      expect(() => keepTurn(deps, launch('other'))).toThrow(/whatever the size/)
      expect(() => turnToTake(deps, launch(''))).toThrow(/whatever the size/)
    }
  })

  test('ends for every replica with a VM that Azure accepts', async () => {
    const cluster = new FakeCluster()
    const [one, other] = [replica(cluster), replica(cluster)]
    await pass(0)
    await one.refuse('a')
    await one.refuse('b')
    await other.unavailable.change((marks, nowMs) =>
      withAcceptance(marks, { nodeClass: 'default', instanceType: 'c' }, nowMs),
    )
    await pass(0)
    for (const { deps } of [one, other]) expect(turnToTake(deps, launch(''))).toBeUndefined()
  })

  test('a launch that was let through before the first refusal is held back', async () => {
    const { deps, refuse } = replica(new FakeCluster())
    await pass(0)
    await refuse('a')
    expect(() => keepTurn(deps, launch(''))).toThrow(/one launch is tried before all others/)
  })
})

describe('the state of a class', () => {
  const state = (change: Parameters<typeof nodeClassJson>[1], config = azureConfig) =>
    stateOfClass(decodeNodeClass(nodeClassJson('default', change)), config)
  const plain = state({})

  test.each<[string, string]>([
    ['another generation', state({ metadata: { generation: 2 } })],
    ['another UID', state({ metadata: { uid: 'other' } })],
    ['other images', state({ status: { images: [] } })],
    ['another Kubernetes version', state({ status: { kubernetesVersion: '1.37.0' } })],
    ['another setting', state({}, { ...azureConfig, bootDiagnostics: false })],
    ['another API version', state({}, { ...azureConfig, apiVersions: new Map([['a', '2025-11-01']]) })],
  ])('changes with %s', (_, changed) => {
    expect(changed).not.toBe(plain)
  })

  test('stays with other conditions and labels', () => {
    expect(state({ metadata: { labels: { a: 'b' } } })).toBe(plain)
  })
})
