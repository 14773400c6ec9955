// `joiner admin uninstall`: Joiner leaves a cluster, and its nodes stay.
import { beforeAll, expect, test } from 'vitest'
import { onQueueOf } from '../../core/workflow-queries.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { deployment, nodePool } from '../applied-objects.ts'
import { runProcess } from './command-line.ts'
import { type Prepared, pool } from './prepared.ts'
import { Uninstalling } from './uninstalling.ts'

/** With one node of Joiner's; at the end it is none of Joiner's, and nothing else of Joiner is left but CRDs and rights. */
export function uninstallCases(prepared: () => Prepared): void {
  const world = () => prepared().world
  const leaving = new Uninstalling(prepared)

  beforeAll(async () => {
    // Doctor's tests have taken parts of it away.
    await world().installation.install()
    const before = await leaving.terms()
    await world().startWithPool(pool())
    await world().untilRunning(1)
    // Its node and pod were there before this process, so they don't prove that it leads.
    await world().until('the new process leads', async () => {
      const now = await leaving.terms()
      return now.length === 2 && now.every((term) => !before.includes(term))
    })
  })

  test('a dry run prints the steps and changes nothing', async () => {
    // What the Schedule starts ends by itself.
    const lasting = (await leaving.openWorkflows()).filter((id) => /^(?:nodeclaim|disruption|provisioning)\//.test(id))
    const { code, stdout } = await leaving.run('--dry-run')
    expect(code).toBe(0)
    expect(lasting).toHaveLength(3)
    expect(stdout).toContain('pause provisioning and disruption')
    expect(stdout).toContain('wait until no process of Joiner runs')
    expect(stdout).toMatch(/delete the Schedule and end \d+ workflows/)
    expect(stdout).toMatch(/remove Joiner's finalizers from 1 Nodes? \(with the owner\), 1 NodeClaims?, 1 AKSNodeClass/)
    expect(await leaving.openWorkflows()).toEqual(expect.arrayContaining(lasting))
    expect(await leaving.schedules()).toHaveLength(1)
    expect((await prepared().claims()).every(({ metadata }) => metadata.finalizers?.length === 1)).toBe(true)
  })

  test('without --yes and a terminal it does nothing and says so', async () => {
    const { code, stderr } = await runProcess(leaving.environment, ...leaving.words)
    expect(code).toBe(1)
    expect(stderr).toContain('--yes: nobody can be asked here')
    expect(await leaving.schedules()).toHaveLength(1)
  })

  test('while a process leads outside of the Deployments, its workflows are left alone', async () => {
    const labels = { 'app.kubernetes.io/name': 'joiner', 'app.kubernetes.io/instance': 'joiner' }
    // Joiner makes no node for its pod, as for none of the chart's.
    const nodeSelector = { 'example.com/nowhere': 'true' }
    const found = deployment({ name: 'joiner', replicas: 1, cpu: '10m', nodeSelector })
    await world().apply({ ...found, metadata: { name: 'joiner', namespace: 'joiner', labels } })
    const { code, stderr } = await leaving.run('--yes', '--timeout', '5s')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /Lease joiner\/joiner-(bridge|planner|maintenance): process "joiner" renews it.*stop that process/,
    )
    const scaled = await world().operator.api<{ spec: { replicas: number } }>(
      'GET',
      '/apis/apps/v1/namespaces/joiner/deployments/joiner',
    )
    expect(scaled.spec.replicas).toBe(0)
    expect(await leaving.schedules()).toHaveLength(1)
    expect(await leaving.openWorkflows()).toContain(`disruption/${clusterName}`)
    const pauses = await world().operator.kubectl(['get', 'configmap', '-n', 'joiner', 'joiner-pauses', '-o', 'yaml'])
    expect(pauses).toContain('joiner admin uninstall')
  })

  test('once it is stopped, the rest is done: nodes and pods run on, and nothing of Joiner is left', async () => {
    await world().cluster.supervisor.stop('joiner')
    const { code, stdout, stderr } = await leaving.run('--yes', '--delete-history')
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(stdout).toContain('helm uninstall joiner --namespace joiner')
    expect(stdout.match(/az vm delete --yes --ids \/subscriptions\//g)).toHaveLength(1)
    expect(stdout).toContain('kubectl delete crd nodepools.karpenter.sh')
    expect(await leaving.openWorkflows()).toEqual([])
    expect(await leaving.schedules()).toEqual([])
    expect((await world().temporal.workflow.count(onQueueOf(clusterName))).count).toBe(0)
    expect(await leaving.conversions()).toEqual(['None v1', 'None v1'])
    expect(await leaving.ownObjects()).toEqual([])
    expect(await world().running()).toBe(1)
    expect((await world().azure()).virtualMachines).toHaveLength(1)
    expect((await world().list('nodes')).map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[]])
  })

  test('objects of v1 can be read, applied and deleted without Joiner, and the Nodes outlive their NodeClaims', async () => {
    await world().apply(nodePool({ name: 'another' }))
    const names = await world().operator.kubectl(['get', 'nodepools', '-o', 'name'])
    expect(names).toContain('nodepool.karpenter.sh/another')
    const old = { ...nodePool({ name: 'old' }), apiVersion: 'karpenter.sh/v1beta1' }
    await expect(world().apply(old)).rejects.toThrow(/no matches for kind|could not find the requested resource/)
    await world().operator.kubectl(['delete', 'nodepools,aksnodeclasses,nodeclaims', '--all', '--timeout=30s'])
    expect(await prepared().claims()).toEqual([])
    expect(await world().list('nodes')).toHaveLength(1)
    expect(await world().running()).toBe(1)
  })

  test('a second run says that nothing is left to do', async () => {
    const { code, stdout } = await leaving.run('--yes', '--delete-history')
    expect(code).toBe(0)
    expect(stdout).toContain('nothing is left to do')
  })
}
