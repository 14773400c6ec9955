// Holds the cluster in memory to a real API server and its controllers: the same rows, the same answers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { ApiServer } from '../../clusters/api-server.ts'
import { FakeCluster } from '../../fakes/cluster.ts'
import { rows } from './rows.ts'

let server: ApiServer
let client: KubernetesClient

beforeAll(async () => {
  server = await ApiServer.start()
  client = await KubernetesClient.load(server.cluster.adminKubeconfig)
})

afterAll(async () => {
  await client?.close()
  await server?.stop()
})

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
    fake.collectsGarbage = true
    const real = await row.play({ client, name: nameOf(at), until: untilSeen })
    const own = await row.play({ client: fake.client, name: nameOf(at), until: untilSeen })
    expect(own).toEqual(real)
  },
  60_000,
)
