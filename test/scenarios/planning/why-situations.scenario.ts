import { nodeClass } from '../../applied-objects.ts'
import { pod, pool, runPrinted, untilBound } from '../../why-situations/objects.ts'
import { ofNodes } from '../../why-situations/of-nodes.ts'
import { ofRequirements } from '../../why-situations/of-requirements.ts'
import { ofSupply, settings } from '../../why-situations/of-supply.ts'
import { ofVolumes } from '../../why-situations/of-volumes.ts'
import { type Outcome, play, type Situation, whyPod } from '../../why-situations/situation.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

const situations: readonly Situation[] = [...ofRequirements, ...ofVolumes, ...ofSupply, ...ofNodes]

let world: World
let outcomes: ReadonlyMap<string, Outcome>

/** All situations come about at once, in one cluster, each with a NodePool of its own. */
beforeAll(async () => {
  world = await World.start()
  await world.operator.simulator('POST', '/settings', settings)
  await world.startWithNodeClass()
  const played = await Promise.all(situations.map((situation) => play(world, situation)))
  outcomes = new Map(played.map((outcome) => [outcome.name, outcome]))
})

afterAll(() => world?.stop())

describe('a situation is named with its cause, and its remedy works:', () => {
  test.each(situations.map(({ name }) => name))('%s', (name) => {
    expect(outcomes.get(name)?.failure).toBeUndefined()
  })

  test('there are 20 at least', () => {
    expect(new Set(situations.map(({ name }) => name)).size).toBe(situations.length)
    expect(situations.length).toBeGreaterThanOrEqual(20)
  })
})

test('provisioning is paused: the command says so, joiner status counts the pods, and the printed command ends it', async () => {
  await world.joiner('pause', '--provisioning', '--reason', 'audit')
  await world.apply(pool('paused'), pod('paused'))
  const answer = await world.until('the pause is named', async () => {
    const printed = await world.joiner('why', 'pod', 'default/paused')
    const isNamed = printed.includes('held back (paused): provisioning is paused by')
    return isNamed && printed.includes('waits for') && printed
  })
  expect(answer).toMatch(/is paused by .* until resumed: audit/)
  expect(answer).toMatch(/kube-scheduler:\n {2}waits for \S+ \(since .*\): Unschedulable: 0\/\d+ nodes are available/)
  const [, command = ''] = /what helps:\n {2}(joiner resume --provisioning)$/m.exec(answer) ?? []
  await runPrinted(world, command)
  await untilBound(world, 'paused')
  expect(await whyPod(world, 'paused')).not.toContain('why it waits')
})

test('pending pods are counted in joiner status and in a metric', async () => {
  await world.apply(nodeClass(), pod('counted', { pool: 'nobody' }))
  await world.until('joiner status counts it', async () =>
    /^PENDING {2}.*[1-9]\d* unschedulable \(.*node-pools \d+/m.test(await world.joiner('status')),
  )
  expect(await world.servers.metrics('joiner')).toMatch(
    /^joiner_pending_pods\{state="unschedulable",cause="node-pools"\} [1-9]/m,
  )
})
