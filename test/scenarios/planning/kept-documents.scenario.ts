// Whatever stands in the ConfigMaps that Joiner keeps: pods get their nodes, and each document that cannot be used is named.
import { gunzipSync, gzipSync } from 'node:zlib'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { malformed } from '../../kept-documents/malformed.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

/** Starts, each with other documents. 25 of them take a minute of a core, and are a part of `npm run test:all`. */
const rounds = process.env['JOINER_TEST_OUTAGES'] === 'all' ? 25 : 2

interface Map_ {
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

const path = '/api/v1/namespaces/joiner/configmaps'

async function maps(): Promise<readonly Map_[]> {
  const { items } = await world.operator.api<{ readonly items: readonly Map_[] }>('GET', path)
  return items.filter(({ metadata }) => metadata.name.startsWith('joiner-'))
}

/** Patches of a ConfigMap, each of which puts a malformed text in place of one of its entries. */
function odd({ data = {}, binaryData = {} }: Map_): readonly object[] {
  const texts = (good: string) => malformed(good, () => false, rounds)
  const packed = Object.entries(binaryData).map(([key, value]) =>
    texts(gunzipSync(Buffer.from(value, 'base64')).toString()).map((text) => ({
      binaryData: { [key]: gzipSync(text).toString('base64') },
    })),
  )
  const plain = Object.entries(data).map(([key, value]) =>
    texts(/^[[{"]/.test(value) ? value : JSON.stringify(value)).map((text) => ({ data: { [key]: text } })),
  )
  return Array.from({ length: rounds }, (_, round) => {
    const entries = [...packed, ...plain]
    return entries[round % entries.length]?.[round] ?? {}
  })
}

test(`a Joiner that starts with malformed documents in each ConfigMap, ${rounds} times: pods get nodes, and a line names each`, async () => {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const kept = (await maps()).map((map) => ({ name: map.metadata.name, patches: odd(map) }))
  for (let round = 0; round < rounds; round++) {
    await world.crash()
    for (const { name, patches } of kept) await world.operator.api('PATCH', `${path}/${name}`, patches[round])
    world.startJoiner()
    const pods = 2 + (round % 2)
    await world.scale('inflate', pods)
    await world.untilRunning(pods)
  }
  const log = await world.cluster.supervisor.tail('joiner', 100_000)
  const lines = log.split('\n').filter((line) => line.includes('kept document is damaged'))
  const linesOf = (of: string) => lines.filter((line) => line.includes(`ConfigMap joiner/${of}: `)).length
  const counts = Object.fromEntries(kept.map(({ name }) => [name, linesOf(name)]))
  for (const [name, count] of Object.entries(counts)) expect(count, name).toBeLessThanOrEqual(rounds)
  for (const name of ['joiner-catalogue', 'joiner-prices', 'joiner-image-versions'])
    expect(counts[name], name).toBeGreaterThan(0)
})
