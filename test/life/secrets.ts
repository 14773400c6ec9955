// What must stay secret in a cluster, and where it would be a leak.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { accounts } from '../../deploy/local/installation-accounts.ts'
import type { World } from '../world.ts'

const tokenPath = '/api/v1/namespaces/kube-system/secrets'
const watcher = 'bootstrap-tokens'

/** Begins to write down every bootstrap token that there ever is. Resolves when none can be missed any more. */
export async function watchTokens(world: World): Promise<void> {
  const { cluster, operator } = world
  cluster.supervisor.start({
    name: watcher,
    command: cluster.binaries.kubectl,
    args: ['get', 'secrets', '-n', 'kube-system', '-l', 'joiner.sh/nodeclaim-uid', '--watch', '-o', 'json'],
    env: { KUBECONFIG: cluster.adminKubeconfig },
  })
  const metadata = { name: 'seen-by-the-watch', labels: { 'joiner.sh/nodeclaim-uid': 'none' } }
  await operator.api('POST', tokenPath, { apiVersion: 'v1', kind: 'Secret', metadata })
  await world.until('secrets are watched', async () =>
    (await readFile(cluster.supervisor.logFile(watcher), 'utf8')).includes(metadata.name),
  )
  await operator.api('DELETE', `${tokenPath}/${metadata.name}`)
}

/** The secret halves of all bootstrap tokens since `watchTokens`. */
export async function tokensSeen({ cluster: { supervisor } }: World): Promise<readonly string[]> {
  const text = await readFile(supervisor.logFile(watcher), 'utf8')
  const found = [...text.matchAll(/"token-secret": "([^"]+)"/g)]
  return [...new Set(found.map(([, data = '']) => Buffer.from(data, 'base64').toString()))]
}

/** Custom data of every VM that was ever accepted, from the simulator's journal. */
export async function customData({ cluster: { stateDir } }: World): Promise<readonly string[]> {
  const folder = join(stateDir, 'azure')
  const files = (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8').catch(() => ''))
  const found = (await Promise.all(files)).join('\n').matchAll(/"customData":"([^"]+)"/g)
  return [...new Set([...found].map(([, data = '']) => data))]
}

/** The tokens that Joiner's processes have from Kubernetes. */
export async function ownTokens({ cluster: { stateDir } }: World): Promise<readonly string[]> {
  const names = [...accounts.map((account) => `${account}-alone.token`), 'joiner.federated-token']
  return Promise.all(names.map((name) => readFile(join(stateDir, name), 'utf8')))
}

const kubernetesPaths = [
  '/api/v1/events',
  '/api/v1/nodes',
  '/api/v1/configmaps',
  '/apis/karpenter.sh/v1/nodeclaims',
  '/apis/karpenter.sh/v1/nodepools',
  '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
]

/** All objects that Joiner writes, as text. */
export async function objectsText({ operator }: World): Promise<string> {
  return JSON.stringify(await Promise.all(kubernetesPaths.map((path) => operator.api<unknown>('GET', path))))
}

/** All that Joiner's processes have logged. */
export async function logsText({ cluster: { supervisor } }: World): Promise<string> {
  const files = accounts.map((account) => readFile(supervisor.logFile(account), 'utf8'))
  return (await Promise.all(files)).join('\n')
}

/** Pieces of a secret: a part that is cut off, or cut out, is a leak as well. */
export function pieces(secret: string): readonly string[] {
  const length = 32
  if (secret.length <= length) return [secret]
  return Array.from({ length: Math.floor(secret.length / length) }, (_, index) =>
    secret.slice(index * length, (index + 1) * length),
  )
}
