import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import type { ClusterView } from '../starter/view/cluster-view.ts'
import { ClusterWatch } from '../starter/view/cluster-watch.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { hasPseudoTerminals, onTerminal } from './runner/pseudo-terminal.ts'
import { World } from './world.ts'

const command = fileURLToPath(new URL('../starter/joiner.ts', import.meta.url))

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(
    nodePool({ consolidateAfter: 'Never' }),
    nodeClass(),
    deployment({ replicas: 2, apart: true }),
  )
  await world.untilRunning(2)
  await world.until('the nodes are initialized', async () =>
    (await viewed()).nodes.every(({ phase, isReady }) => phase === 'Ready' && isReady),
  )
})

afterAll(() => world?.stop())

const viewed = async (...args: readonly string[]) =>
  JSON.parse(await world.joiner('top', '--once', '-o', 'json', ...args)) as ClusterView

test('one view says what the cluster and the simulated Azure say', async () => {
  const { nodes, totals, pools, missing, pending } = await viewed()
  const { virtualMachines } = await world.azure()
  const seen = nodes.map(({ instanceType, zone }) => `${instanceType} ${zone?.slice(-1)}`)
  expect(seen.toSorted()).toEqual(virtualMachines.map(({ size, zone }) => `${size} ${zone}`).toSorted())
  const names = (await world.list('nodes')).map(({ metadata }) => metadata.name)
  expect(nodes.map(({ node = '' }) => node).toSorted()).toEqual(names.toSorted())
  for (const { pods, requested, pricePerHour = 0, nodePool: pool } of nodes) {
    expect([pods.length, requested.cpu, pool]).toEqual([1, 1, 'general'])
    expect(pricePerHour).toBeGreaterThan(0)
  }
  expect(totals).toMatchObject({ nodes: 2, pods: 2, pending: 0, unpriced: 0 })
  expect(totals.pricePerHour).toBeCloseTo(nodes.reduce((sum, { pricePerHour = 0 }) => sum + pricePerHour, 0))
  expect(pools.map(({ name, nodes: count }) => [name, count])).toEqual([['general', 2]])
  expect([pending, missing]).toEqual([[], []])
})

test('without a terminal it is plain text, filtered and sorted', async () => {
  const [first, second] = (await viewed()).nodes
  const text = await world.joiner('top', '--sort', 'age')
  expect(text).not.toContain('\u001b')
  expect(text).toContain('2 nodes  2 pods  0 pending')
  for (const node of [first, second]) expect(text).toContain(node?.node)
  const filtered = await world.joiner('top', '--filter', first?.node ?? '')
  expect(filtered).not.toContain(second?.node)
  await expect(world.joiner('top', '--resources', 'gpu')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Allowed are cpu, memory, pods'),
  })
})

test('who may only read Nodes sees them, and what is missing', async () => {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const metadata = { name: 'node-viewer' }
  await world.apply(
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }],
    },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'node-viewer' },
      subjects: [{ kind: 'User', name: 'viewer', apiGroup: 'rbac.authorization.k8s.io' }],
    },
  )
  const admin = { ...process.env, KUBECONFIG: world.cluster.adminKubeconfig }
  const as = (user: string) =>
    new Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }>((resolve) => {
      execFile(process.execPath, [command, 'top', '--once', '--as', user], { env: admin }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      )
    })
  const viewer = await world.until('the rights are there', async () => {
    const ran = await as('viewer')
    return ran.code === 0 && ran
  })
  expect(viewer.stdout).toContain('2 nodes')
  for (const kind of ['pods', 'nodeclaims', 'nodepools'])
    expect(viewer.stderr).toContain(`note: ${kind}: you may not list them; ask for a role that lists and watches them`)
  expect(viewer.stderr).toContain('joiner-prices')
  const nobody = await as('nobody')
  expect([nobody.code, nobody.stderr]).toEqual([
    1,
    expect.stringContaining('User "nobody" cannot list resource "nodes"'),
  ])
})

test.skipIf(!hasPseudoTerminals)('on a terminal a new node appears, and the terminal is given back', async () => {
  const env = { ...process.env, KUBECONFIG: world.installation.operatorKubeconfig, NO_COLOR: '1' }
  const terminal = onTerminal([process.execPath, command, 'top'], { rows: 30, columns: 160, env })
  await terminal.until('2 nodes  2 pods  0 pending')
  await world.scale('inflate', 3)
  await terminal.until('1 pending')
  await world.untilRunning(3)
  await terminal.until('3 nodes  3 pods  0 pending')
  terminal.press('q')
  const { code, output } = await terminal.end()
  expect(code).toBe(0)
  expect(output.slice(output.lastIndexOf('\u001b[?1049l'))).toMatch(/ icanon/)
})

test('after the API server was killed the view goes on', async () => {
  const client = await KubernetesClient.load(world.installation.operatorKubeconfig)
  const watch = await ClusterWatch.start({ client, namespace: 'joiner' })
  const said: string[] = []
  watch.onChange(({ missing }) => said.push(...missing))
  const { nodes } = watch.view()
  try {
    await world.restartServer('kube-apiserver', 2000)
    expect(said.filter((text) => text.startsWith('pods: the API server is not reached'))).not.toEqual([])
    await world.scale('inflate', 2)
    await world.until('the view has a pod less', async () => watch.view().totals.pods === 2)
    await world.until('nothing is missing', async () => watch.view().missing.length === 0)
    expect(watch.view().nodes).toHaveLength(nodes.length)
  } finally {
    watch.close()
    await client.close()
  }
})
