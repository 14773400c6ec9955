import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import {
  forceFinishSignal,
  forceFinishUpdate,
  holdUpdate,
  lifecycleStatusQuery,
  releaseUpdate,
  retryNowUpdate,
} from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { type Seen, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool(), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

/** Each story begins with one node that runs a pod. */
let claim: Seen
beforeEach(async () => {
  await world.operator.simulator('DELETE', '/faults')
  await world.scale('inflate', 1)
  claim = await world.until('one node is ready, and no other is left', async () => {
    const claims = await world.list('nodeclaims')
    const [first] = claims
    const isReady = first?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    return claims.length === 1 && isReady && (await world.running()) === 1 ? first : undefined
  })
})

const name = () => claim.metadata.name
const vm = () => `aks-${name()}`
const lifecycle = () => world.temporal.workflow.getHandle(lifecycleId(clusterName, claim.metadata))

/** An event of a reason on a NodeClaim, by default the story's, whose message holds a text. */
async function reported(reason: string, text: string, about = name()): Promise<string> {
  return world.until(`an event ${reason} with "${text}"`, async () => {
    const events = await world.list('events')
    return events.find(
      (event) =>
        event.involvedObject?.name === about && event.reason === reason && event.message?.includes(text) === true,
    )?.message
  })
}

async function isThere(): Promise<boolean> {
  return (await world.list('nodeclaims')).some(({ metadata }) => metadata.uid === claim.metadata.uid)
}

/** What a command that does not do what was asked for printed. */
async function failure(...options: readonly string[]): Promise<Failed> {
  return world.joiner(...options).then(
    (stdout) => ({ code: 0, stdout, stderr: '' }),
    (error: Failed) => error,
  )
}

interface Failed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface ListedNode {
  readonly nodeClaim: string
  readonly node?: string
  readonly phase: string
  readonly waitsFor?: string
  readonly attempt?: string
  readonly lastFailure?: string
  readonly again?: string
  readonly hold?: string
}

async function listed(): Promise<ListedNode> {
  const rows = JSON.parse(await world.joiner('node', 'list', '--output', 'json')) as readonly ListedNode[]
  expect(rows.map(({ nodeClaim }) => nodeClaim)).toEqual([name()])
  return rows[0] as ListedNode
}

/** Azure refuses to delete VMs, in a way that is tried again in a minute only; the NodeClaim's deletion hangs on it. */
async function hangInDeletion(): Promise<void> {
  const operation = 'DELETE virtualMachines'
  await world.fault({ kind: 'failSync', operation, code: 'AuthorizationFailed', status: 403, count: 100_000 })
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaim', name(), '--wait=false', '--ignore-not-found'])
  await world.until('the deletion of the VM is refused', async () => {
    const { pendingActivities } = (await lifecycle().describe()).raw
    return pendingActivities?.some(
      ({ activityType, lastFailure }) => activityType?.name === 'deleteInstance' && lastFailure,
    )
  })
}

test('holds keep empty nodes, are reported wherever somebody looks, and end by a release or by their time', async () => {
  const node = vm()
  const held = await world.joiner('node', 'hold', node, '--until', '2h', '--reason', 'core dump', '--by', 'alice')
  expect(held).toMatch(new RegExp(`^NodeClaim ${name()} is held for .* more \\(until .*\\) by alice: core dump\n$`))
  await world.scale('inflate', 2)
  const other = await world.until('a second pod runs on a node of its own', async () => {
    const claims = await world.list('nodeclaims')
    return (await world.running()) === 2 && claims.find(({ metadata }) => metadata.name !== name())?.metadata.name
  })
  const annotate = (value: string) =>
    world.operator.kubectl(['annotate', '--overwrite', 'nodeclaim', other, `joiner.sh/hold-until=${value}`])
  await annotate('tomorrow')
  await world.scale('inflate', 0)
  await reported('DisruptionBlocked', 'core dump ("joiner.sh/hold-until" annotation)')
  // What cannot be read holds, and says so.
  await reported('DisruptionBlocked', '"tomorrow" is no RFC 3339 time', other)
  expect(await reported('NodeHeld', 'by alice: core dump')).toContain('is held until')
  expect(await world.joiner('node')).toMatch(new RegExp(`${name()} .*HELD for .* more .* by alice: core dump`))
  expect(await world.joiner('why', 'node', node)).toContain('by alice: core dump')
  expect((await lifecycle().query(lifecycleStatusQuery)).hold).toContain('by alice: core dump')
  expect((await world.list('nodeclaims')).length).toBe(2)
  expect(await world.joiner('node', 'release', name(), '--by', 'bob')).toMatch(
    /is released by bob; it was held for .* more \(until .*\) by alice: core dump\n$/,
  )
  // Nobody clears this one: its time comes.
  await annotate(new Date(Date.now() + 2000).toISOString())
  await world.untilNothingLeft()
})

test('without Temporal the cluster says what it knows; what cannot be read on the command line ends with 2', async () => {
  const listing = await failure('node', 'list', '--temporal-address', '127.0.0.1:1')
  expect(listing).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(new RegExp(`${name()} +${vm()} +general +Ready`)),
  })
  expect(listing.stderr).toContain('without Temporal, phases come from the conditions of NodeClaims')
  expect(await failure('node', 'hold', name(), '--reason', 'x', '--until', 'soon')).toMatchObject({ code: 2 })
  expect(await failure('node', 'show', 'nobody')).toMatchObject({ code: 2 })
})

test('the same through Temporal: hold and release, and what cannot be read is refused', async () => {
  await expect(lifecycle().executeUpdate(holdUpdate, { args: [{ until: 'tomorrow' }] })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('not an RFC 3339 time') },
  })
  const answer = await lifecycle().executeUpdate(holdUpdate, { args: [{ reason: 'audit', expiry: true }] })
  expect(answer).toEqual({
    kind: 'done',
    message: `NodeClaim ${name()} is held until released, with its expiry: audit`,
  })
  await lifecycle().signal('release', { by: 'carol' })
  await reported('NodeReleased', 'is released by carol')
  expect(await lifecycle().executeUpdate(releaseUpdate, { args: [null] })).toEqual({
    kind: 'done',
    message: `NodeClaim ${name()} was not held`,
  })
})

test('a step that waits a minute for its next attempt starts again at once', async () => {
  await hangInDeletion()
  const { phase, attempt, lastFailure, again } = await listed()
  expect({ phase, lastFailure }).toEqual({
    phase: 'Terminating',
    lastFailure: expect.stringContaining('NotAuthorized'),
  })
  expect(attempt).toMatch(/^deleteInstance \d/)
  expect(Date.parse(again ?? '') - Date.now()).toBeGreaterThan(20_000)
  await world.operator.simulator('DELETE', '/faults')
  const began = Date.now()
  const printed = await world.joiner('node', 'retry', name(), '--reason', 'the role is there', '--by', 'dave')
  expect(printed).toMatch(/: Terminating \(it waited for the VM to be gone for \S+ \(since .*\)\) is started again\n$/)
  await world.untilNothingLeft(Date.parse(again ?? '') - began)
  expect(await reported('RetryNow', 'by dave: the role is there')).toContain('Terminating')
})

test('a lifecycle is not ended by force while it need not be; with --leave-vm its VM is tagged, told and collected', async () => {
  const reason = ['--reason', 'Azure refuses, case 42', '--yes']
  const living = await failure('node', 'force-finish', name(), ...reason)
  expect(living).toMatchObject({ code: 1, stderr: expect.stringContaining('is not being deleted') })
  expect(living.stderr).toContain(`kubectl delete nodeclaim ${name()}`)
  await hangInDeletion()
  const refused = await failure('node', 'force-finish', vm(), ...reason)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`VM ${vm()} exists`) })
  expect(refused.stderr).toContain('--leave-vm')
  await reported('ForceFinishRefused', 'Azure refuses, case 42')
  expect(await isThere()).toBe(true)
  const printed = await world.joiner('node', 'force-finish', vm(), ...reason, '--leave-vm', '--output', 'json')
  const answer = JSON.parse(printed) as { readonly kind: string; readonly vm?: string }
  expect(answer).toMatchObject({ kind: 'done', vm: expect.stringMatching(new RegExp(`/virtualMachines/${vm()}$`)) })
  await reported('ForceFinished', `VM ${answer.vm} is left to garbage collection`)
  expect(await isThere()).toBe(false)
  expect((await world.list('nodes')).length).toBe(0)
  expect(await endOf(world, name())).toMatchObject({
    status: 'COMPLETED',
    outcome: 'forced',
    reason: 'ended by force: Azure refuses, case 42',
  })
  interface State {
    readonly virtualMachines: readonly { readonly name: string; readonly tags: Readonly<Record<string, string>> }[]
  }
  const { virtualMachines } = await world.operator.simulator<State>('GET', '/state')
  expect(virtualMachines.find((one) => one.name === vm())?.tags['joiner.sh_abandoned']).toMatch(/^2\d{3}-.*Z$/)
  await world.operator.simulator('DELETE', '/faults')
  await world.until('garbage collection takes it', async () => {
    await world.maintain()
    return (await world.azure()).virtualMachines.length === 0
  })
})

test('a lifecycle whose VM is gone is ended by force without more, and a pod that nothing may move goes with it', async () => {
  const [pod] = await world.list('pods')
  await world.operator.kubectl(['annotate', 'pod', pod?.metadata.name ?? '', 'karpenter.sh/do-not-disrupt=true'])
  await world.operator.kubectl(['delete', 'nodeclaim', name(), '--wait=false'])
  await world.until('the drain waits', async () => (await lifecycle().query(lifecycleStatusQuery)).phase === 'Draining')
  const arm = await world.arm()
  await arm.deleteVm(vm())
  await arm.close()
  await world.until('the VM is gone', async () =>
    (await world.azure()).virtualMachines.every((one) => one.name !== vm()),
  )
  const answer = await lifecycle().executeUpdate(forceFinishUpdate, {
    args: [dated({ reason: 'its VM is gone', by: 'fay' })],
  })
  expect(answer).toEqual({ kind: 'done', message: `the lifecycle of NodeClaim ${name()} is ended; its VM is gone` })
  await reported('ForceFinished', 'by fay: its VM is gone')
  expect(await isThere()).toBe(false)
  const uids = (await world.list('pods')).map(({ metadata }) => metadata.uid)
  expect(uids).not.toContain(pod?.metadata.uid)
})

test('the same through Temporal: a step started again, a lifecycle ended by force, and nothing of it without a reason', async () => {
  await hangInDeletion()
  const noReason = { args: [{ reason: ' ' }] as [{ reason: string }] }
  await expect(lifecycle().executeUpdate(forceFinishUpdate, noReason)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('state why') },
  })
  await lifecycle().signal(forceFinishSignal, dated({ reason: '' }))
  await reported('ForceFinishRefused', 'gives no reason')
  const answer = await lifecycle().executeUpdate(retryNowUpdate, { args: [{ by: 'erin' }] })
  expect(answer.message).toContain('is started again')
  await reported('RetryNow', 'by erin')
  const forced = await lifecycle().executeUpdate(forceFinishUpdate, {
    args: [dated({ reason: 'case 43', leaveVm: true })],
  })
  expect(forced).toMatchObject({ kind: 'done', vm: expect.stringContaining(vm()) })
  await lifecycle().result()
  expect(await isThere()).toBe(false)
  const late = await failure('node', 'retry', name())
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('no lifecycle of a Node or NodeClaim') })
})
