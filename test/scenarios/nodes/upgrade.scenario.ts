// What a kept version of the workflows began goes on with the current one.

import { loopStatusQuery, pauseSignal, resumeSignal } from '../../../workflows/messages.ts'
import { keptVersions } from '../../bundles/kept.ts'
import { TwoVersions } from '../../upgrade/two-versions.ts'
import { isTrue, type Seen, type World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '../scenario.ts'

const kept = await keptVersions()
let versions: TwoVersions
let world: World

beforeAll(async () => {
  versions = await TwoVersions.start()
  world = versions.world
})

afterAll(() => world?.stop())

afterEach(() => versions.tidy())

test('a version is kept', () => {
  expect(kept).not.toEqual([])
})

describe.each(kept)('what version $version began goes on with the current one:', ({ version, bundle }) => {
  test('lifecycles, whatever they were at, and they end with nothing left', async () => {
    const startedMs = Date.now()
    await versions.startWith(bundle)
    await world.scale('inflate', 2)
    await world.untilRunning(2)
    const [leaving] = await versions.ready(2)
    const name = leaving?.metadata.name ?? ''
    await world.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'attached' },
      spec: { attacher: 'disk.csi.azure.com', nodeName: `aks-${name}`, source: { persistentVolumeName: 'data' } },
    })
    // Its pod is planned again, onto a node that takes long to join.
    await world.timing({ bootMs: 15_000 })
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
    await world.until('one drains, one registers', async () => {
      const claims = await world.list('nodeclaims')
      const registers = claims.some((claim: Seen) => isTrue(claim, 'Launched') && !isTrue(claim, 'Registered'))
      return registers && (await versions.phases()).includes('Draining')
    })
    await world.fault({ kind: 'latency', ms: 10_000, count: 1 })
    await world.scale('inflate', 3)
    await world.until('there is a lifecycle in each phase', async () => {
      const now = await versions.phases()
      return ['Launching', 'Ready', 'Draining'].every((phase) => now.includes(phase))
    })

    await versions.upgrade()
    await world.operator.kubectl(['delete', 'volumeattachment', 'attached'])
    await world.untilRunning(3, 120_000)
    await versions.ready(3)
    await versions.endAll()
    const ends = await versions.endings(startedMs)
    expect(ends.length).toBeGreaterThanOrEqual(4)
    expect(new Set(ends)).toEqual(new Set(['COMPLETED, 0 tasks failed']))
  })

  test('the loops, with the pause that one of them knows, and a disruption command, in the same runs', async () => {
    await versions.startWith(bundle)
    await world.scale('inflate', 1)
    await world.untilRunning(1)
    const [leaving] = await versions.ready(1)
    const [provisioning, disruption] = [world.loop('provisioning'), world.loop('disruption')]
    await provisioning.signal(pauseSignal, { reason: 'an upgrade' })
    await world.until('the pause is in force', async () => (await provisioning.query(loopStatusQuery)).pause)
    // The command waits for a node that takes long to join.
    await world.timing({ bootMs: 15_000 })
    const template = { metadata: { labels: { team: version } } }
    await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', { spec: { template } })
    const command = await world.until('a command waits for its replacement', () => versions.waitingCommand())
    const ids = [provisioning.workflowId, disruption.workflowId, command]
    const before = await Promise.all(ids.map((id) => versions.runOf(id)))

    await versions.upgrade()
    await world.until(
      'the node is replaced',
      async () => (await versions.runOf(command)).startsWith('COMPLETED'),
      120_000,
    )
    expect(await world.temporal.workflow.getHandle(command).result()).toMatchObject({ outcome: 'done' })
    const [replacement] = await versions.ready(1)
    expect(replacement?.metadata.uid).not.toBe(leaving?.metadata.uid)
    expect((await provisioning.query(loopStatusQuery)).pause).toMatchObject({ reason: 'an upgrade' })
    await provisioning.signal(resumeSignal, dated())
    await world.scale('inflate', 2)
    await versions.ready(2)
    expect(await Promise.all(ids.map((id) => versions.runOf(id)))).toEqual([
      ...before.slice(0, 2),
      before[2]?.replace('RUNNING', 'COMPLETED'),
    ])
    expect(await Promise.all(ids.map((id) => versions.failedTasks(id)))).toEqual([0, 0, 0])
    await versions.endAll()
  })
})
