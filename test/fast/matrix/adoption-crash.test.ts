// A machine that lost its NodeClaim gets it again, wherever Joiner is killed on the way.
import { expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import type { StopPoint } from '../network.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { FastWorld } from '../world/fast-world.ts'
import { passing } from '../world/passing.ts'
import { serversOf } from '../world/simulated-servers.ts'
import { isWrite } from './rows.ts'

interface Kill {
  readonly request: number
  readonly point: StopPoint
}

const restartMs = 3000
const longMs = 20 * 60_000

/** Requests from the creation of the NodeClaim on, by their numbers, and what is wrong at the end. */
interface Adopted {
  readonly requests: readonly (readonly [number, string])[]
  readonly wrong: readonly string[]
}

function adopted(kill?: Kill): Promise<Adopted> {
  return passing(async () => {
    const fast = await FastWorld.start({ seed: 1 })
    const world = new World(serversOf(fast))
    let kills = 0
    try {
      world.startJoiner()
      await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ replicas: 1 }))
      await isReady(world)
      const before = await stateOf(world)
      await world.crash()
      await lose(world, before.claims[0] as Seen)
      const start = fast.network.requests.length
      if (kill !== undefined)
        fast.network.planned = {
          ...kill,
          stop: (process) => {
            kills += 1
            fast.crash(process.name)
            SimulatedProcess.outside(() => setTimeout(() => world.startJoiner(process.name), restartMs))
          },
        }
      world.startJoiner()
      await isReady(world)
      const numbered = fast.network.requests.map((request, at) => [at + 1, request] as const).slice(start)
      const first = numbered.findIndex(([, request]) => /^create \S*nodeclaims/.test(request))
      const wrong = [...wrongIn(before, await stateOf(world)), ...(kills === (kill ? 1 : 0) ? [] : [`${kills} kills`])]
      return { requests: numbered.slice(first), wrong }
    } finally {
      await world.stop()
    }
  })
}

const isReady = (world: World) =>
  world.until(
    'the node is ready',
    async () => {
      const [claim, ...more] = await world.list('nodeclaims')
      return claim !== undefined && more.length === 0 && isTrue(claim, 'Initialized') && (await world.running()) === 1
    },
    longMs,
  )

async function lose(world: World, { metadata: { name } }: Seen): Promise<void> {
  await world.operator.kubectl(['patch', 'nodeclaim', name, '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
  await world.operator.kubectl(['delete', 'nodeclaim', name, '--cascade=orphan'])
}

async function stateOf(world: World) {
  const [claims, nodes, pods, { virtualMachines }, journal] = await Promise.all([
    world.list('nodeclaims'),
    world.list('nodes'),
    world.list('pods'),
    world.azure(),
    world.journal(),
  ])
  const puts = journal.filter(({ method }) => method === 'PUT' || method === 'DELETE').map(({ name }) => name)
  return { claims, nodes, pods, virtualMachines, puts }
}

type State = Awaited<ReturnType<typeof stateOf>>

/** What of the machine is not as before, or not its NodeClaim's. */
function wrongIn(before: State, { claims, nodes, pods, virtualMachines, puts }: State): readonly string[] {
  const uid = claims[0]?.metadata.uid
  const names = (objects: readonly Seen[]) => objects.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).join()
  const owners = nodes.flatMap(
    ({ metadata }) => (metadata as { ownerReferences?: readonly { uid: string }[] }).ownerReferences ?? [],
  )
  const checks = {
    'another name': claims[0]?.metadata.name === before.claims[0]?.metadata.name,
    'another pod': names(pods) === names(before.pods),
    'another Node': names(nodes) === names(before.nodes),
    'a PUT or DELETE of a VM': puts.length === before.puts.length,
    'the tag of another NodeClaim': virtualMachines.every(({ tags }) => tags?.['joiner.sh_nodeclaim-uid'] === uid),
    'another owner of the Node': owners.length === 1 && owners[0]?.uid === uid,
  }
  return Object.entries(checks).flatMap(([what, isRight]) => (isRight ? [] : [what]))
}

/** Writes that no state follows from. */
const beside = /\/(events|configmaps|secrets)\b/

test('a machine gets its NodeClaim again, wherever Joiner is killed: after a write whose answer is lost', async () => {
  const { requests, wrong } = await adopted()
  expect(wrong).toEqual([])
  const writes = requests.filter(([, request]) => isWrite(request) && !beside.test(request))
  expect(writes.map(([, request]) => request)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^create \S*nodeclaims/),
      expect.stringMatching(/^PATCH virtualMachines/),
      expect.stringMatching(/atch \S*nodes\/aks-/),
    ]),
  )
  const failed: string[] = []
  for (const [request, name] of writes) {
    const row = await adopted({ request, point: 'effected' }).catch((error: Error) => ({ wrong: [error.message] }))
    if (row.wrong.length > 0) failed.push(`${request} ${name}: ${row.wrong.join('; ')}`)
  }
  expect(failed).toEqual([])
}, 600_000)
