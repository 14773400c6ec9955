import { WorkflowUpdateFailedError } from '@temporalio/client'
import { consolidateNowSignal, loopStatusQuery, pauseUpdate, resumeUpdate } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { operatorUser, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s' })
  await world.apply(nodePool(), nodePool({ name: 'batch' }), nodeClass())
  await world.untilReady('general')
  await world.untilReady('batch')
})

afterAll(() => world?.stop())

const poolLabel = 'karpenter.sh/nodepool'

async function nodesOf(pool: string) {
  return (await world.list('nodes')).filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)
}

/** What the condition DisruptionPaused of an object says. */
async function shownOn(kind: 'nodepools' | 'nodeclaims', name: string): Promise<string | undefined> {
  const object = (await world.list(kind)).find(({ metadata }) => metadata.name === name)
  return object?.status?.conditions?.find(({ type, status }) => type === 'DisruptionPaused' && status === 'True')
    ?.message
}

async function stored(): Promise<Readonly<Record<string, string>>> {
  const path = '/api/v1/namespaces/joiner/configmaps?fieldSelector=metadata.name=joiner-pauses'
  const { items } = await world.operator.api<{ items: readonly { data?: Readonly<Record<string, string>> }[] }>(
    'GET',
    path,
  )
  return items[0]?.data ?? {}
}

function refusal(error: unknown): string {
  return error instanceof WorkflowUpdateFailedError ? (error.cause?.message ?? '') : `not refused: ${String(error)}`
}

test('an update that cannot be carried out is refused, and nothing is paused', async () => {
  const loop = world.loop('disruption')
  const refused = (request: unknown, name: 'provisioning' | 'disruption' = 'disruption') =>
    world
      .loop(name)
      .executeUpdate('pause', { args: [request] })
      .then(() => 'not refused', refusal)
  expect(await refused({ scope: { zone: '1' } })).toContain('scope {"zone":"1"}: not a kind of scope')
  expect(await refused({ until: 'tomorrow' })).toContain('until "tomorrow": not an RFC 3339 time')
  expect(await refused({ until: '2020-01-01T00:00:00Z' })).toContain('lies in the past')
  expect(await refused({ scope: { nodePool: 'general' } }, 'provisioning')).toContain('paused as a whole')
  expect(await loop.query(loopStatusQuery)).not.toHaveProperty('pause')
  expect(await stored()).toEqual({})
  const answer = await loop.executeUpdate(resumeUpdate, { args: [dated({ scope: { nodePool: 'general' } })] })
  expect(answer).toEqual({ message: 'disruption of NodePool "general" was not paused', before: [], inForce: [] })
})

test('a paused NodePool keeps its empty nodes and says so, another pool goes on; then one node of it, until a time', async () => {
  const loop = world.loop('disruption')
  await world.apply(
    deployment({ name: 'inflate', replicas: 2, apart: true, nodeSelector: { [poolLabel]: 'general' } }),
    deployment({ name: 'jobs', replicas: 1, nodeSelector: { [poolLabel]: 'batch' } }),
  )
  await world.untilRunning(2)
  await world.until('the job runs', async () => (await world.running('jobs')) === 1)

  const request = { reason: 'release day', by: 'alice', scope: { nodePool: 'general' } }
  const answer = await loop.executeUpdate(pauseUpdate, { args: [request] })
  expect(answer.message).toMatch(
    /^disruption of NodePool "general" is paused by alice since .* until resumed: release day$/,
  )
  expect(answer.inForce).toHaveLength(1)
  expect(Object.keys(await stored())).toEqual(['disruption.nodepool.general'])
  expect(await shownOn('nodepools', 'general')).toBe(answer.message)
  expect(await shownOn('nodepools', 'batch')).toBeUndefined()
  // Restarts of loop and process change nothing of it.
  await loop.terminate('lost on purpose')
  await world.until('the bootstrap has started it again', async () => {
    const { partialPauses } = await loop.query(loopStatusQuery)
    return partialPauses?.[0]?.by === 'alice'
  })

  await world.scale('inflate', 0)
  await world.scale('jobs', 0)
  await world.until('the empty node of the other pool is gone', async () => (await nodesOf('batch')).length === 0)
  const { doing } = await loop.query(loopStatusQuery)
  expect(doing).not.toContain('paused')
  const kept = await nodesOf('general')
  expect(kept).toHaveLength(2)
  expect(kept.filter(({ spec }) => spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted'))).toEqual([])
  await world.untilReady('general')

  const claim = (await world.list('nodeclaims')).find(({ metadata }) => metadata.labels?.[poolLabel] === 'general')
  const node = (claim?.status as { readonly nodeName?: string } | undefined)?.nodeName ?? ''
  const named = { stderr: expect.stringContaining(`Did you mean "${node}"?`) as string }
  await expect(world.joiner('node', 'hold', `${node}x`, '--reason', 'x')).rejects.toMatchObject(named)
  const scope = { node }
  await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'debugging', by: 'bob', scope }] })
  expect(await shownOn('nodeclaims', claim?.metadata.name ?? '')).toContain('paused by bob')
  const resumed = await loop.executeUpdate(resumeUpdate, {
    args: [dated({ scope: { nodePool: 'general' }, by: 'carol' })],
  })
  expect(resumed.message).toContain('disruption of NodePool "general" is resumed; it was: ')
  expect(resumed.inForce).toHaveLength(1)
  expect(await shownOn('nodepools', 'general')).toBeUndefined()
  await loop.signal(consolidateNowSignal, dated())
  await world.until('the node that is not paused is gone', async () => (await nodesOf('general')).length === 1)
  expect((await nodesOf('general'))[0]?.metadata.name).toBe(node)

  const until = new Date(Date.now() + 3000).toISOString()
  const replaced = await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'nearly done', until, scope }] })
  expect(replaced.message).toMatch(/nearly done; it replaces: .*debugging/)
  await world.untilNothingLeft()
  await world.until('the entry is removed', async () => Object.keys(await stored()).length === 0)
  const reported = (await world.list('events')).filter(({ reason }) => reason?.startsWith('Disruption'))
  const texts = reported.map(({ reason, involvedObject, message }) => `${reason} ${involvedObject?.name}: ${message}`)
  expect(texts).toContain(`DisruptionPaused general: ${answer.message}`)
  expect(texts).toContain(`DisruptionResumed general: resumed by carol; was: ${answer.message}`)
})

test('a pause of all shows on every NodePool, and a resume of everything lifts what cannot be read as well', async () => {
  const loop = world.loop('disruption')
  await world.operator.api('PATCH', '/api/v1/namespaces/joiner/configmaps/joiner-pauses', {
    data: { 'disruption.zone.1': '{"reason":"by hand"}' },
  })
  await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'no drift', scope: { reason: 'Drifted' } }] })
  const paused = await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'all stop' }] })
  expect(paused.inForce).toHaveLength(3)
  for (const pool of ['general', 'batch']) {
    const shown = await shownOn('nodepools', pool)
    for (const reason of ['by hand', 'no drift', 'all stop']) expect(shown).toContain(reason)
  }
  const { before, inForce } = await loop.executeUpdate(resumeUpdate, { args: [dated({ all: true })] })
  expect([before.length, inForce]).toEqual([3, []])
  expect(await stored()).toEqual({})
  expect(await shownOn('nodepools', 'general')).toBeUndefined()
})

test('a name that was mistyped pauses nothing, and the one that was meant is named', async () => {
  const wrong = { code: 2, stderr: expect.stringContaining('Did you mean "general"? Nothing was done') as string }
  await expect(world.joiner('pause', '--nodepool', 'genral', '--reason', 'x')).rejects.toMatchObject(wrong)
  await expect(world.joiner('resume', '--nodepool', 'genral')).rejects.toMatchObject(wrong)
  expect(await stored()).toEqual({})
  expect(await world.joiner('pause', '--nodepool', 'next-year', '--reason', 'x', '--allow-missing')).toContain(
    '"next-year" is paused',
  )
  expect(await world.joiner('resume', '--nodepool', 'next-year', '--allow-missing')).toContain('is resumed')
})

test('joiner pause, status and resume say who, why and until when', async () => {
  const paused = await world.joiner('pause', '--nodepool', 'general', '--reason', 'release day', '--until', '2h')
  expect(paused).toMatch(
    /^disruption of NodePool "general" is paused by .* for \d+s \(since .*\) for .* more \(until .*\): release day\n$/,
  )
  expect(paused).toContain(`by ${operatorUser} for`)
  const [text, json] = await Promise.all([world.joiner('status'), world.joiner('status', '--output', 'json')])
  const status = JSON.parse(json) as unknown
  const scope = { kind: 'nodePool', name: 'general' }
  expect(status).toMatchObject({
    problems: [],
    loops: [{ pauses: [] }, { pauses: [{ scope, by: operatorUser, reason: 'release day' }] }],
    queues: [{ workers: 1 }, { workers: 1 }, { workers: 1 }, { workers: 1 }, { workers: 1 }],
  })
  expect(text).toContain(`PAUSED  ${paused.trim()}`)
  const [resumed] = await Promise.all([
    world.joiner('resume', '--all'),
    expect(world.joiner('pause', '--reason', 'x', '--cluster-name', 'elsewhere')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the disruption loop of cluster "elsewhere" does not run'),
    }),
  ])
  expect(resumed).toBe(`nothing of provisioning was paused\nall of disruption is resumed; it was: ${paused}`)
})
