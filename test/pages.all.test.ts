// Somebody follows the pages on a local cluster. Joiner's Deployments stay without pods there, so a process stands for them, which ends when they are
// scaled to 0.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { lifecycleKey } from '../core/task-queues.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { AksOwner } from './arm/aks-owner.ts'
import { ArmSession } from './arm/arm-session.ts'
import { karpenterValues } from './chart.ts'
import { HookPods } from './chart-lifecycle/hook-pods.ts'
import { KarpenterRemains, type RawObject } from './karpenter-remains.ts'
import { scenarios } from './pages/blocks.ts'
import { joinPool, untilOldRuns } from './pages/node-pool.ts'
import { Player } from './pages/player.ts'
import { claimsPath, isTrue, type Seen, World } from './world.ts'

const names = (objects: readonly Seen[]) => objects.map(({ metadata }) => metadata.name).sort()

/** Runs a block that scales Joiner's Deployments to 0, and ends the process that stands for them when it has. */
async function whileStopping(world: World, work: Promise<string>): Promise<string> {
  const path = '/apis/apps/v1/namespaces/joiner/deployments'
  const stopped = world.until('the Deployments are scaled to 0', async () => {
    const { items } = await world.operator.api<{ items: readonly { spec: { replicas: number } }[] }>('GET', path)
    return items.every(({ spec }) => spec.replicas === 0)
  })
  const [output] = await Promise.all([work, stopped.then(() => world.cluster.supervisor.stop('joiner'))])
  return output
}

/** Does what Cilium's agents do once they run on their nodes. */
async function ciliumStarts(world: World): Promise<void> {
  const taint = 'node.cilium.io/agent-not-ready'
  const waiting = (await world.list('nodes')).filter(({ spec }) => spec.taints?.some(({ key }) => key === taint))
  for (const { metadata } of waiting) await world.operator.kubectl(['taint', 'node', metadata.name, `${taint}-`])
}

/** A player whose shell has Joiner's settings: those of the local cluster, which has the CRDs, accounts and rights of the chart before it. */
const openPlayer = ({ cluster, installation }: World) =>
  Player.open({ cluster, env: installation.processSpec().env ?? {}, hasRights: true })

/** The player is logged in to Azure as an Owner, whose cluster is in that resource group. */
async function logIn({ cluster, operator }: World, player: Player, resourceGroup: string): Promise<AksOwner> {
  const owner = await AksOwner.arrive({
    endpoint: cluster.azureEndpoint,
    issuer: 'https://oidc.example/issuer/',
    admin: (method, path, body) => operator.simulator(method, path, body),
  })
  await owner.clusters({ name: clusterName, resourceGroup })
  await owner.logIn('Owner')
  await player.logIn(owner.az.folder)
  return owner
}

describe('a new cluster', () => {
  let world: World
  let player: Player
  let hooks: HookPods
  let owner: AksOwner

  beforeAll(async () => {
    // The CRDs are deleted in the end, so no other suite gets this cluster.
    world = await World.start({ cloud: 'boot' })
    player = await openPlayer(world)
    hooks = new HookPods(world.cluster, world.operator, 'joiner')
    hooks.start()
    owner = await logIn(world, player, 'joiner-demo')
  })

  afterAll(async () => {
    await hooks?.stop()
    await owner?.leave()
    await player?.close()
    await world?.stop({ tookRights: true })
  })

  test('install-aks: from the command line, by identity, roles and values, to five pods on nodes', async () => {
    const names = { cluster: clusterName, registry: 'joinerdemo1' }
    await player.next('install', 'npm run pack-cli')
    expect(await player.run('command -v joiner')).toContain('/npm/bin/joiner')
    const setUp = await player.next('install', 'joiner admin aks setup', names)
    expect(setUp).toContain('made: federated credential for ServiceAccount joiner/joiner-azure')
    expect((await owner.access()).roleAssignments).not.toEqual([])
    expect(await player.run('cat values.yaml')).toContain('repository: joinerdemo1.azurecr.io/joiner')
    // Those of the local cluster name a URL where the chart's name a Service.
    await world.operator.kubectl(['apply', '--server-side', '-f', 'deploy/crds'])
    expect(await player.next('install', 'helm install joiner')).toContain('STATUS: deployed')
    // As in values.yaml: whose values name it may not read the Service.
    world.startJoiner('joiner', { DNS_SERVICE_IP: '10.0.0.10' })
    await player.next('install', 'kubectl apply -f examples/cilium.yaml')
    await world.until('5 pods run', async () => {
      await ciliumStarts(world)
      return (await world.running()) === 5
    })
    const shown = await player.next('install', 'kubectl get nodeclaims')
    expect(shown).toContain('cilium')
    await player.next('install', 'kubectl scale deployment inflate --replicas 0')
    expect(player.left('install')).toEqual([])
  })

  test('every example is accepted, and its NodePool becomes Ready', async () => {
    const said = await world.operator.kubectl(['apply', '-f', 'examples'])
    expect(said).not.toContain('Warning')
    for (const name of ['general-purpose', 'cilium', 'gpu', 'spot', 'arm64']) await world.untilReady(name)
    // The pages pause a NodePool gpu.
    await world.operator.kubectl(['delete', 'nodepools', 'cilium', 'spot', 'arm64'])
    await world.untilNothingLeft()
  })

  test('from-cluster-autoscaler: pods of a drained node pool get nodes of Joiner', async () => {
    await joinPool(world, 'user1')
    const old = deployment({ name: 'old', replicas: 2 })
    await world.apply(old)
    await untilOldRuns(world, 'on', 'user1')
    expect(await player.next('from-cluster-autoscaler', 'kubectl get nodes -L agentpool')).toContain('user1')
    await player.next('from-cluster-autoscaler', 'kubectl cordon --selector agentpool=user1')
    await untilOldRuns(world, 'off', 'user1')
    expect(await player.next('from-cluster-autoscaler', 'kubectl get nodeclaims')).toContain('general-purpose')
    await world.operator.kubectl(['delete', 'node', 'user1-0'])
    expect(player.left('from-cluster-autoscaler')).toEqual([])
  })

  test('operations, disruption, nodes, temporal: what an operator does', async () => {
    await world.apply(nodePool({ consolidateAfter: 'Never' }))
    await world.untilReady('general')
    await world.until('the pods run', async () => (await world.running('old')) === 2)
    // Nothing is to be consolidated, so that every command finds the node that it names.
    await world.operator.kubectl(['annotate', 'pods', '-l', 'app=old', 'karpenter.sh/do-not-disrupt=true'])
    const used = (await world.list('pods')).map(({ spec }) => spec.nodeName)
    const idle = (await world.list('nodes')).filter(({ metadata }) => !used.includes(metadata.name))
    const idleClaims = idle.map(({ metadata }) => metadata.name.replace(/^aks-/, ''))
    if (idleClaims.length > 0) await world.operator.kubectl(['delete', 'nodeclaim', ...idleClaims, '--timeout=60s'])
    const [claim] = await world.until('there is a node', async () => {
      const claims = await world.list('nodeclaims')
      return claims.length > 0 && claims.every((each) => isTrue(each, 'Initialized')) && claims
    })
    if (claim === undefined) throw new Error('there is no NodeClaim')
    const { name } = claim.metadata
    const known = {
      claim: name,
      node: `aks-${name}`,
      lifecycle: lifecycleKey(claim.metadata),
      cluster: clusterName,
      namespace: 'joiner',
      release: 'joiner',
    }
    const plan = async () => {
      await world.joiner('resume', '--all')
      const made = JSON.parse(await world.joiner('plan', '--ignore-consolidate-after', '--output', 'json')) as {
        readonly id: string
      }
      return { ...known, plan: made.id }
    }
    const next = (beginning: string) => player.next('operate', beginning, known)
    expect(await next('joiner pause --reason')).toContain('release day')
    await next('temporal workflow update execute --workflow-id disruption/CLUSTER --name pause')
    await world.joiner('resume', '--all')
    expect(await next('joiner blocked capacity list')).toContain('no exclusions match')
    expect(await next('temporal workflow list')).toContain('"phase":"Ready"')
    // A node that is idle, so that the plan has something to do.
    await world.scale('inflate', 12)
    await world.untilRunning(12)
    await world.scale('inflate', 0)
    await world.until('they are gone', async () => (await world.running()) === 0)
    await player.next('operate', 'joiner plan --ignore-consolidate-after', await plan())
    expect(await next('joiner node ')).toContain(name)
    await player.next('operate', 'temporal workflow update execute --workflow-id disruption', await plan())
    await next('temporal workflow update execute --workflow-id nodeclaim')
    expect(await next('kubectl annotate nodeclaim')).toContain('annotated')
    await next('temporal operator namespace create')
    expect(await next('joiner admin takeover --temporal')).toContain("is this cluster's already")
    expect(await next('joiner admin takeover --release')).toContain('are those of')
    expect(player.left('operate')).toEqual([])
    await world.joiner('resume', '--all')
    await world.operator.kubectl(['annotate', 'pods', '-l', 'app=old', 'karpenter.sh/do-not-disrupt-'])
  })

  test('upgrade: CRDs and chart again, and back', async () => {
    await player.next('upgrade', 'joiner pause')
    expect(await player.next('upgrade', 'kubectl apply --server-side')).toContain('has been upgraded')
    expect(await player.next('upgrade', 'joiner status')).toContain('disruption')
    expect(await player.next('upgrade', 'helm history')).toContain('Rollback was a success')
    await player.next('upgrade', 'kubectl create secret generic joiner-encryption')
    expect(player.left('upgrade')).toEqual([])
    await world.until('the pods run', async () => (await world.running('old')) === 2)
  })

  test('from-nap: limits of 0 and no NodeClaims; Joiner stands for the NAP that deletes them', async () => {
    expect(await player.next('from-nap', 'kubectl get nodepools')).toContain('valid')
    await player.next('from-nap', 'kubectl get nodepools -o name')
    await joinPool(world, 'bridge')
    await player.next('from-nap', 'kubectl delete nodeclaims --all')
    expect(await world.list('nodeclaims')).toEqual([])
    await untilOldRuns(world, 'on', 'bridge')
    await owner.clusters({ name: clusterName, resourceGroup: 'my-group' })
    const setUp = await player.next('from-nap', 'joiner admin aks setup', { cluster: clusterName })
    expect(setUp).toContain('all is set up')
    // NAP is off, and with it goes what stood for it.
    await player.run('helm uninstall joiner --namespace joiner')
    await world.cluster.supervisor.stop('joiner')
    expect(await player.next('from-nap', 'kubectl apply --server-side')).toContain('STATUS: deployed')
    world.startJoiner('joiner', { DNS_SERVICE_IP: '10.0.0.10' })
    await player.next('from-nap', 'sed -E')
    await player.next('from-nap', 'kubectl cordon --selector agentpool=bridge')
    await untilOldRuns(world, 'off', 'bridge')
    await world.operator.kubectl(['delete', 'node', 'bridge-0'])
    expect(player.left('from-nap')).toEqual([])
  })

  test('from-nap, with its nodes: identity and chart, with the value that has Joiner manage machines', async () => {
    await player.run('helm uninstall joiner --namespace joiner')
    await world.cluster.supervisor.stop('joiner')
    expect(await player.next('from-nap-nodes', 'joiner admin aks setup', { cluster: clusterName })).toContain(
      'all is set up',
    )
    expect(await player.next('from-nap-nodes', 'kubectl apply --server-side')).toContain('STATUS: deployed')
    const settings = await player.run('kubectl get configmap joiner-settings --namespace joiner -o yaml')
    expect(settings).toContain('MANAGE_EXISTING_AKS_MACHINES: "true"')
    expect(player.left('from-nap-nodes')).toEqual([])
    world.startJoiner('joiner', { DNS_SERVICE_IP: '10.0.0.10' })
    await untilOldRuns(world, 'off', 'bridge')
  })

  test('uninstall: nothing is left of Joiner, and the cluster answers', async () => {
    expect(await player.next('uninstall', 'joiner admin uninstall --dry-run')).toContain('scale to 0')
    const shown = await whileStopping(world, player.next('uninstall', 'joiner admin uninstall --nodes remove'))
    expect(shown).toContain('helm uninstall joiner --namespace joiner')
    expect(await world.left()).toMatchObject({ nodeClaims: 0, nodes: 0, vms: 0, nics: 0, disks: 0, lifecycles: 0 })
    await player.next('uninstall', 'kubectl delete crd')
    expect(player.left('uninstall')).toEqual([])
    const objects = await world.operator.kubectl([
      'get',
      'crd,clusterrole,clusterrolebinding,validatingadmissionpolicy',
      '-o',
      'name',
    ])
    expect(
      objects
        .split('\n')
        .filter((each) => /joiner|karpenter/.test(each) && !each.includes('united') && !each.includes('an-operator')),
    ).toEqual([])
  })
})

describe('a cluster with Karpenter', () => {
  const left = ['general-k1', 'general-k2'] as const
  let world: World
  let player: Player
  let hooks: HookPods
  let arm: ArmSession
  let owner: AksOwner
  let before: { readonly claims: readonly Seen[]; readonly vms: readonly string[] }

  const vms = async () => (await world.azure()).virtualMachines.map(({ name }) => name).sort()

  beforeAll(async () => {
    world = await World.start()
    player = await openPlayer(world)
    hooks = new HookPods(world.cluster, world.operator, 'joiner')
    hooks.start()
    owner = await logIn(world, player, 'my-group')
    arm = await ArmSession.open(world.cluster)
    // One node of Joiner is the example for those of Karpenter.
    await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
    await world.scale('inflate', 1)
    await world.untilRunning(1)
    const [example = ''] = await world.until('the example is ready', async () => {
      const claims = await world.list('nodeclaims')
      return claims.some((claim) => isTrue(claim, 'Initialized')) && names(claims)
    })
    await world.cluster.supervisor.stop('joiner')
    // The CRDs as Karpenter has them.
    for (const crd of ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh'])
      await world.operator.api('PATCH', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}`, {
        spec: { conversion: { strategy: 'None', webhook: null } },
      })
    const claim = await world.operator.api<RawObject>('GET', `${claimsPath}/${example}`)
    const node = await world.operator.api<RawObject>('GET', `/api/v1/nodes/aks-${example}`)
    const karpenter = new KarpenterRemains(world, arm)
    for (const name of left) await karpenter.leave({ name, claim, node })
    const labels = { 'app.kubernetes.io/name': 'karpenter' }
    const running = deployment({ name: 'karpenter', replicas: 1, cpu: '10m' })
    const release = {
      ...running,
      metadata: { name: 'karpenter', namespace: 'kube-system' },
      spec: {
        ...running.spec,
        selector: { matchLabels: labels },
        template: { ...running.spec.template, metadata: { labels } },
      },
    }
    await player.write('karpenter/Chart.yaml', stringify({ apiVersion: 'v2', name: 'karpenter', version: '1.10.2' }))
    await player.write('karpenter/templates/karpenter.yaml', stringify(release))
    await player.write('karpenter/given.yaml', stringify({ ...karpenterValues, temporal: undefined, image: undefined }))
    await player.run('helm install karpenter karpenter --namespace kube-system --values karpenter/given.yaml')
    await world.scale('inflate', 3)
    await world.untilRunning(3)
    before = { claims: await world.list('nodeclaims'), vms: await vms() }
  })

  afterAll(async () => {
    await hooks?.stop()
    await owner?.leave()
    await arm?.close()
    await player?.close()
    await world?.stop({ tookRights: true })
  })

  const identities = (claims: readonly Seen[]) => claims.map(({ metadata: { name, uid } }) => `${name} ${uid}`).sort()

  test('from-karpenter: every node stays, and Joiner has a lifecycle for each', async () => {
    expect(before.vms).toHaveLength(3)
    await player.next('from-karpenter', 'kubectl get nodepools,aksnodeclasses')
    expect(await player.next('from-karpenter', 'joiner admin aks setup', { cluster: clusterName })).toContain(
      'made: federated credential for ServiceAccount joiner/karpenter-sa',
    )
    await player.next('from-karpenter', 'kubectl scale deployment karpenter')
    await player.next('from-karpenter', 'kubectl apply --server-side')
    expect(await player.next('from-karpenter', 'helm install joiner')).toContain('STATUS: deployed')
    // Joiner starts lifecycles of nodes that are ready at its resync: 5 minutes by default.
    world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '3s' })
    await world.until(
      'all have lifecycles',
      async () => (await world.lifecycles("ExecutionStatus = 'Running'")).length === 3,
    )
    const shown = await player.next('from-karpenter', 'kubectl get nodeclaims -o wide')
    for (const name of left) expect(shown).toContain(`aks-${name}`)
    expect(player.left('from-karpenter')).toEqual([])
    const after = await world.list('nodeclaims')
    expect(identities(after)).toEqual(identities(before.claims))
    expect(after.filter((claim) => claim.metadata.deletionTimestamp !== undefined || isTrue(claim, 'Drifted'))).toEqual(
      [],
    )
    expect(await vms()).toEqual(before.vms)
    expect(await world.running()).toBe(3)
  })

  test('rollback: nodes stay with all that Karpenter needs, and nothing of Joiner runs', async () => {
    expect
      .soft(await player.next('rollback', 'joiner admin uninstall --nodes karpenter --dry-run'))
      .toContain('nodes stay for Karpenter')
    await whileStopping(world, player.next('rollback', 'joiner admin uninstall --nodes karpenter --yes'))
    const shown = await player.next('rollback', 'kubectl scale deployment karpenter')
    for (const name of left) expect(shown).toContain(name)
    expect(player.left('rollback')).toEqual([])
    const after = await world.list('nodeclaims')
    expect(identities(after)).toEqual(identities(before.claims))
    expect(await vms()).toEqual(before.vms)
    expect(await world.running()).toBe(3)
    const held = [...after, ...(await world.list('nodes'))].map(({ metadata }) => metadata.finalizers)
    expect(held).toEqual(Array.from({ length: 6 }, () => ['karpenter.sh/termination']))
    expect(await world.lifecycles("ExecutionStatus = 'Running'")).toEqual([])
    const strategy = await world.operator.kubectl([
      'get',
      'crd',
      'nodeclaims.karpenter.sh',
      '-o',
      'jsonpath={.spec.conversion.strategy}',
    ])
    expect(strategy).toBe('None')
  })
})

test('every scenario of the pages is played here, or with pods that run', () => {
  const played = [
    'install',
    // By npm run real-nodes (test/real-nodes/install-page.ts).
    'install-pods',
    'from-cluster-autoscaler',
    'operate',
    'upgrade',
    'from-nap',
    'from-nap-nodes',
    'uninstall',
    'from-karpenter',
    'rollback',
  ]
  expect(Object.keys(scenarios).sort()).toEqual(played.sort())
})
