// Holds the cluster in memory to a real API server and its controllers: the same rows, the same answers.
import { readFile } from 'node:fs/promises'
import { Agent, request as send } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { ApiServer } from '../../clusters/api-server.ts'
import { FakeCluster } from '../../fakes/cluster.ts'
import type { Method, PatchType } from './api/rest.ts'
import { startControllers } from './controllers/start-controllers.ts'
import { rows } from './rows.ts'

let server: ApiServer
let client: KubernetesClient
let agent: Agent

beforeAll(async () => {
  server = await ApiServer.start()
  client = await KubernetesClient.load(server.cluster.adminKubeconfig)
  agent = new Agent({ connect: { ca: await readFile(server.cluster.pki.caFile, 'utf8') } })
})

afterAll(async () => {
  await client?.close()
  await agent?.close()
  await server?.stop()
})

async function request(method: Method, path: string, body?: unknown, patch: PatchType = 'merge'): Promise<Json> {
  const type = method !== 'PATCH' ? 'json' : patch === 'apply' ? 'apply-patch+yaml' : `${patch}-patch+json`
  const response = await send(`${server.cluster.server}${path}`, {
    method,
    dispatcher: agent,
    headers: { authorization: `Bearer ${server.cluster.adminToken}`, 'content-type': `application/${type}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = (await response.body.json()) as Json
  if (response.statusCode < 300) return answer
  throw new ApiError(response.statusCode, String(answer['reason']), String(answer['message']))
}

async function untilSeen(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()))
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
}

const nameOf = (at: number) => `row-${at}`

test.each(rows.map((row, at) => [row.name, row, at] as const))(
  '%s',
  async (_, row, at) => {
    const fake = new FakeCluster()
    const controllers = startControllers(fake)
    const real = await row.play({ client, request, name: nameOf(at), until: untilSeen })
    const own = await row.play({
      client: fake.client,
      request: (...asked) => fake.request(...asked),
      name: nameOf(at),
      until: untilSeen,
    })
    controllers.stop()
    expect(own).toEqual(real)
  },
  60_000,
)
