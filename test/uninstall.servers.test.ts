// Joiner leaves a cluster: its nodes stay, or go with it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onQueueOf } from '../core/workflow-queries.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { World } from './world.ts'

let world: World

beforeAll(async () => {
  // CRDs are deleted, so no other suite gets this cluster.
  world = await World.start({ cloud: 'boot' })
  await begin()
})

afterAll(() => world?.stop())

/** Starts Joiner and waits for two nodes. */
async function begin(): Promise<void> {
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.scale('inflate', 2)
  await world.untilRunning(2)
}

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `joiner uninstall` as an administrator. */
async function uninstall(...args: readonly string[]): Promise<Outcome> {
  const KUBECONFIG = world.cluster.adminKubeconfig
  try {
    const stdout = await world.joinerWith({ KUBECONFIG }, 'uninstall', '--cluster', clusterName, ...args)
    return { code: 0, stdout, stderr: '' }
  } catch (error) {
    return error as Outcome
  }
}

async function openWorkflows(): Promise<readonly string[]> {
  const found: string[] = []
  const query = `ExecutionStatus = 'Running' AND ${onQueueOf(clusterName)}`
  for await (const { workflowId } of world.temporal.workflow.list({ query })) found.push(workflowId)
  return found
}

async function schedules(): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { scheduleId } of world.temporal.schedule.list()) found.push(scheduleId)
  return found
}

/** The strategy of conversion and the served versions of the CRDs that Joiner converts. */
async function conversions(): Promise<readonly string[]> {
  const paths = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh']
  const columns =
    '-o=jsonpath={.spec.conversion.strategy} {.spec.versions[?(@.served==true)].name} {.metadata.annotations.joiner\\.sh/installation}'
  return Promise.all(paths.map(async (name) => (await world.operator.kubectl(['get', 'crd', name, columns])).trim()))
}

const ownObjects = async () =>
  (await world.operator.kubectl(['get', 'configmaps,leases', '-n', 'joiner', '-o', 'name']))
    .split('\n')
    .filter((name) => name.includes('/joiner-'))

test('a dry run prints the steps and changes nothing', async () => {
  const before = await openWorkflows()
  const { code, stdout } = await uninstall('--dry-run')
  expect(code).toBe(0)
  expect(stdout).toContain('pause provisioning and disruption')
  expect(stdout).toContain('wait until no process of Joiner runs')
  expect(stdout).toMatch(/delete 4 Schedules and end \d+ workflows/)
  expect(stdout).toContain("remove Joiner's finalizers from 2 Nodes (with the owner), 2 NodeClaims, 1 AKSNodeClass")
  expect(await openWorkflows()).toEqual(expect.arrayContaining([...before]))
  expect(await schedules()).toHaveLength(4)
  expect((await world.list('nodeclaims')).every(({ metadata }) => metadata.finalizers?.length === 1)).toBe(true)
})

test('without --yes and a terminal it does nothing and says so', async () => {
  const { code, stderr } = await uninstall()
  expect(code).toBe(1)
  expect(stderr).toContain('--yes: nobody can be asked here')
  expect(await schedules()).toHaveLength(4)
})

test('while a process leads outside of the Deployments, its workflows are left alone', async () => {
  const labels = { 'app.kubernetes.io/name': 'joiner', 'app.kubernetes.io/instance': 'joiner' }
  // Joiner makes no node for its pod, as for none of the chart's.
  const nodeSelector = { 'example.com/nowhere': 'true' }
  const found = deployment({ name: 'joiner', replicas: 1, cpu: '10m', nodeSelector })
  await world.apply({ ...found, metadata: { name: 'joiner', namespace: 'joiner', labels } })
  const { code, stderr } = await uninstall('--yes', '--timeout', '5s')
  expect(code).toBe(1)
  expect(stderr).toMatch(/Lease joiner\/joiner-(bridge|planner): process "joiner" renews it.*stop that process/)
  const scaled = await world.operator.api<{ spec: { replicas: number } }>(
    'GET',
    '/apis/apps/v1/namespaces/joiner/deployments/joiner',
  )
  expect(scaled.spec.replicas).toBe(0)
  expect(await schedules()).toHaveLength(4)
  expect(await openWorkflows()).toContain(`disruption/${clusterName}`)
  expect(await world.operator.kubectl(['get', 'configmap', '-n', 'joiner', 'joiner-pauses', '-o', 'yaml'])).toContain(
    'joiner uninstall',
  )
})

test('once it is stopped, the rest is done: nodes and pods run on, and nothing of Joiner is left', async () => {
  await world.cluster.supervisor.stop('joiner')
  const { code, stdout, stderr } = await uninstall('--yes', '--delete-history')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toContain('helm uninstall joiner --namespace joiner')
  expect(stdout.match(/az vm delete --yes --ids \/subscriptions\//g)).toHaveLength(2)
  expect(stdout).toContain('kubectl delete crd nodepools.karpenter.sh')
  expect(await openWorkflows()).toEqual([])
  expect(await schedules()).toEqual([])
  expect((await world.temporal.workflow.count(onQueueOf(clusterName))).count).toBe(0)
  expect(await conversions()).toEqual(['None v1', 'None v1'])
  expect(await ownObjects()).toEqual([])
  expect(await world.running()).toBe(2)
  expect((await world.azure()).virtualMachines).toHaveLength(2)
  expect((await world.list('nodes')).map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[], []])
})

test('objects of v1 can be read, applied and deleted without Joiner, and the Nodes outlive their NodeClaims', async () => {
  await world.apply(nodePool({ name: 'another' }))
  expect(await world.operator.kubectl(['get', 'nodepools', '-o', 'name'])).toContain('nodepool.karpenter.sh/another')
  const old = { ...nodePool({ name: 'old' }), apiVersion: 'karpenter.sh/v1beta1' }
  await expect(world.apply(old)).rejects.toThrow(/no matches for kind|could not find the requested resource/)
  await world.operator.kubectl(['delete', 'nodepools,aksnodeclasses,nodeclaims', '--all', '--timeout=30s'])
  expect(await world.list('nodeclaims')).toEqual([])
  expect(await world.list('nodes')).toHaveLength(2)
  expect(await world.running()).toBe(2)
})

test('a second run says that nothing is left to do', async () => {
  const { code, stdout } = await uninstall('--yes', '--delete-history')
  expect(code).toBe(0)
  expect(stdout).toContain('nothing is left to do')
})

test('with --nodes remove, NodeClaims and VMs go before Joiner does', async () => {
  await world.scale('inflate', 0)
  for (const { name } of (await world.azure()).virtualMachines)
    await world.operator.simulator('POST', `/vms/${name}/delete`)
  await world.operator.kubectl(['delete', 'nodes', '--all'])
  await world.operator.kubectl(['delete', 'crd', 'nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', '--timeout=30s'])
  await world.installation.install()
  await begin()
  const ended = uninstall('--yes', '--nodes', 'remove')
  await world.until('the NodeClaims are gone', async () => (await world.list('nodeclaims')).length === 0)
  // A person who reads what it waits for stops the process; in a cluster its Deployment is scaled.
  await world.crash()
  const { code, stdout, stderr } = await ended
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toContain('delete 2 NodeClaims with their nodes and VMs')
  expect(await world.left()).toMatchObject({ nodeClaims: 0, nodes: 0, vms: 0, nics: 0, disks: 0, lifecycles: 0 })
  expect(await openWorkflows()).toEqual([])
  expect(await conversions()).toEqual(['None v1', 'None v1'])
})
