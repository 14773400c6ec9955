// Secrets stay where they belong: after launches that go well and badly, neither logs nor histories nor Kubernetes objects hold any of them.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { ArmSession } from './arm/arm-session.ts'
import { largePayloadsIn, leaksIn } from './histories/corpus.ts'
import { World } from './world.ts'

let world: World
const tokens = new Set<string>()
const stopped = new AbortController()
let watched: Promise<void>

beforeAll(async () => {
  world = await World.start()
  watched = collectTokens()
  world.startJoiner('joiner', { LOG_LEVEL: 'trace' })
  await world.apply(nodePool(), nodeClass(), deployment())
  await world.untilReady('general')
})

afterAll(async () => {
  stopped.abort()
  await watched
  await world?.stop()
})

/** The secret halves of all bootstrap tokens that there ever are. */
async function collectTokens(): Promise<void> {
  const path = '/api/v1/namespaces/kube-system/secrets?labelSelector=joiner.sh/nodeclaim-uid'
  while (!stopped.signal.aborted) {
    const { items } = await world.operator.api<{ items: readonly { data: Record<string, string> }[] }>('GET', path)
    for (const { data } of items) tokens.add(Buffer.from(data['token-secret'] ?? '', 'base64').toString())
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Custom data of every VM that was ever accepted, from the simulator's journal. */
async function customData(): Promise<readonly string[]> {
  const folder = join(world.cluster.stateDir, 'azure')
  const texts = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8').catch(() => '')),
  )
  return [...new Set([...texts.join('\n').matchAll(/"customData":"([^"]+)"/g)].map(([, data = '']) => data))]
}

const kubernetesPaths = [
  '/api/v1/events',
  '/api/v1/nodes',
  '/api/v1/configmaps',
  '/apis/karpenter.sh/v1/nodeclaims',
  '/apis/karpenter.sh/v1/nodepools',
  '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
]

const kubernetes = () => Promise.all(kubernetesPaths.map((path) => world.operator.api<unknown>('GET', path)))

/** Pieces of a secret: a part that is cut off, or cut out, is a leak as well. */
function pieces(secret: string): readonly string[] {
  const length = 32
  if (secret.length <= length) return [secret]
  return Array.from({ length: Math.floor(secret.length / length) }, (_, index) =>
    secret.slice(index * length, (index + 1) * length),
  )
}

test('no log line, history, event, condition or object holds a token, custom data or a credential', async () => {
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable' })
  await world.fault({ kind: 'failAsync', code: 'AllocationFailed' })
  await world.fault({ kind: 'failSync', code: 'InternalServerError', status: 500, message: 'a failure of its own' })
  await world.fault({ kind: 'throttle', retryAfterSeconds: 1, operation: 'PUT virtualMachines' })
  await world.fault({ kind: 'resetAfterCommit' })
  await world.scale('inflate', 1)
  await world.untilRunning(1, 90_000)
  const during = await kubernetes()
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  const data = await customData()
  const credentials = await Promise.all(
    ['joiner.token', 'joiner.federated-token'].map((name) => readFile(join(world.cluster.stateDir, name), 'utf8')),
  )

  const log = await readFile(world.cluster.supervisor.logFile('joiner'), 'utf8')
  const objects = JSON.stringify([...during, ...(await kubernetes())])
  const reported = [...(await world.histories()).values()]
  // All of it happened and is reported, so that there is something to look into.
  expect([tokens.size > 0, data.length > 0, reported.length >= 5]).toEqual([true, true, true])
  const all = `${log}\n${reported.join('\n')}\n${objects}`.toLowerCase()
  expect(
    ['SkuNotAvailable', 'AllocationFail', 'a failure of its own'].filter((what) => !all.includes(what.toLowerCase())),
  ).toEqual([])

  const forbidden = [
    ...tokens,
    ...[...tokens].map((token) => Buffer.from(token).toString('base64')),
    ...data.flatMap(pieces),
    ...credentials.flatMap((token) => pieces(token.split('.')[2] ?? '')),
  ]
  const accessToken = /\beyJ[\w-]{10,}\.[\w-]{10,}/
  const found = (text: string) => [
    ...forbidden.filter((secret) => text.includes(secret)),
    ...(accessToken.exec(text) ?? []),
  ]
  const arm = await ArmSession.open(world.cluster)
  expect([found(`x${data[0]}y`).length > 10, found(`x ${arm.token} y`).length]).toEqual([true, 1])
  await arm.close()
  expect(found(log)).toEqual([])
  expect(found(objects)).toEqual([])
  const named = Object.fromEntries(forbidden.map((secret, index) => [`secret ${index}`, secret]))
  for (const history of reported) {
    expect(leaksIn(history, named)).toEqual([])
    expect(largePayloadsIn(history)).toEqual([])
    expect(accessToken.test(history)).toBe(false)
  }
})
