import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { conditionOf, isReady, phaseOf, specOf, statusOf } from './controllers/seen.ts'
import {
  deployment,
  exists,
  metaOf,
  namespace,
  nodePath,
  type Played,
  pod,
  podPath,
  pods,
  type Row,
  said,
} from './played.ts'

const itemsOf = (answer: Json) => answer['items'] as readonly Json[]

/** Objects of a row. */
const own = async ({ request, name }: Played, list: string) =>
  itemsOf(await request('GET', `${list}?labelSelector=app=${name}`))
const labelKeys = (object: Json) => Object.keys((object['metadata'] as { labels?: Json }).labels ?? {}).toSorted()

const running = async (played: Played) => (await own(played, pods)).filter((one) => phaseOf(one) === 'Running')

/** A Node for the row's pods alone. */
const nodeOf = (name: string, spec: Json = {}, cpu = '2'): Json => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: { row: name, 'kubernetes.io/hostname': name },
    annotations: { 'kwok.x-k8s.io/node': 'fake' },
  },
  spec,
  status: { capacity: { cpu, memory: '8Gi', pods: '20' }, allocatable: { cpu, memory: '8Gi', pods: '20' } },
})

async function start({ client, name, until }: Played, spec: Json = {}): Promise<void> {
  await client.create(resourcePath('nodes'), nodeOf(name, spec))
  await until(async () => {
    const { taints = [] } = (await client.get(nodePath(name)))['spec'] as { taints?: readonly { key: string }[] }
    return (
      taints.every(({ key }) => key !== 'node.kubernetes.io/not-ready') && isReady(await client.get(nodePath(name)))
    )
  })
}

const asks = (cpu: string) => ({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] })

/** A pod for the row's Node. */
const podOf = (name: string, spec: Json = {}, own = name): Json => {
  const made = pod(own, { labels: { app: name } })
  return { ...made, spec: { ...specOf(made), nodeSelector: { row: name }, terminationGracePeriodSeconds: 1, ...spec } }
}

/** A workload whose pods are for the row's Node. */
const workload = (kind: string, name: string, { template, ...spec }: Json & { template?: Json } = {}): Json => {
  const made = deployment(name, {
    template: { nodeSelector: { row: name }, terminationGracePeriodSeconds: 1, ...template },
    ...spec,
  })
  return { ...made, kind, metadata: { name, namespace, labels: { app: name } } }
}

/** What kube-scheduler says of a pod, without the counts of Nodes of other rows. */
async function refusalOf({ client, name, until }: Played, says: string): Promise<unknown> {
  const condition = async () => conditionOf(await client.get(podPath(name)), 'PodScheduled')
  await until(async () => (await condition())?.message?.includes(says) === true)
  const { status, reason } = (await condition()) ?? {}
  return [status, reason]
}

const scheduling: readonly Row[] = [
  {
    name: 'a pod runs on a Node with a kubelet',
    play: async (played) => {
      const { client, name, until } = played
      await start(played)
      await client.create(pods, podOf(name))
      await until(async () => phaseOf(await client.get(podPath(name))) === 'Running')
      const made = await client.get(podPath(name))
      const { conditions } = statusOf(made) as { conditions: readonly Json[] }
      return [
        specOf(made)['nodeName'] === name,
        conditions.map(({ type, status }) => `${String(type)} ${String(status)}`).sort(),
      ]
    },
  },
  ...(
    [
      [
        'a selector that no Node has',
        { nodeSelector: { row: 'none' } },
        {},
        "node(s) didn't match Pod's node affinity/selector",
      ],
      ['too little room', asks('3'), {}, '1 Insufficient cpu'],
      ['a taint', {}, { taints: [{ key: 'mine', effect: 'NoSchedule' }] }, 'node(s) had untolerated taint(s)'],
      ['a Node that takes none', {}, { unschedulable: true }, '1 node(s) were unschedulable'],
      [
        'a volume claim that there is not',
        { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'none' } }] },
        {},
        'persistentvolumeclaim "none" not found',
      ],
    ] as const
  ).map(
    ([what, podSpec, nodeSpec, says]): Row => ({
      name: `the scheduler refuses a pod for ${what}`,
      play: async (played) => {
        await start(played, nodeSpec)
        await played.client.create(pods, podOf(played.name, podSpec))
        return refusalOf(played, says)
      },
    }),
  ),
  ...(
    [
      [
        'a port that is taken',
        { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort: 80 }] }] },
        "1 node(s) didn't have free ports for the requested pod ports",
      ],
      [
        'pods that want to be apart',
        {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: 'kubernetes.io/hostname', labelSelector: {} },
              ],
            },
          },
        },
        "1 node(s) didn't match pod anti-affinity rules",
      ],
    ] as const
  ).map(
    ([what, spec, says]): Row => ({
      name: `the scheduler refuses a second pod for ${what}`,
      play: async (played) => {
        const { client, name, until } = played
        await start(played)
        await client.create(pods, podOf(name, spec, `${name}-first`))
        await until(async () => (await running(played)).length === 1)
        await client.create(pods, podOf(name, spec))
        return refusalOf(played, says)
      },
    }),
  ),
  {
    name: 'a pod with a scheduling gate waits, and says so',
    play: async ({ client, name, until }) => {
      await client.create(pods, podOf(name, { schedulingGates: [{ name: 'example.com/gate' }] }))
      const condition = async () => conditionOf(await client.get(podPath(name)), 'PodScheduled')
      await until(async () => (await condition()) !== undefined)
      return [(await condition())?.status, (await condition())?.reason]
    },
  },
  {
    name: 'a cordoned Node has a taint, and loses it',
    play: async (played) => {
      const { client, name, until } = played
      await start(played, { unschedulable: true })
      const taints = async () => specOf(await client.get(nodePath(name)))['taints'] as readonly Json[] | undefined
      await until(async () => (await taints())?.length === 1)
      const [tainted] = (await taints()) ?? []
      await client.mergePatch(nodePath(name), { spec: { unschedulable: null } })
      await until(async () => (await taints()) === undefined)
      return [tainted?.['key'], tainted?.['effect']]
    },
  },
]

const deployments = resourcePath('deployments', undefined, namespace)
const replicaSets = resourcePath('replicasets', undefined, namespace)
const ownerOf = (object: Json) => metaOf(object) as unknown as { ownerReferences: readonly Json[] }

const workloads: readonly Row[] = [
  {
    name: 'a Deployment makes a ReplicaSet, and that its pods',
    play: async (played) => {
      const { client, name, until } = played
      await client.create(deployments, workload('Deployment', name, { replicas: 2 }))
      await until(async () => (await own(played, pods)).length === 2)
      const [set] = await own(played, replicaSets)
      const [one] = await own(played, pods)
      return [set, one].map((object) =>
        ownerOf(object as Json).ownerReferences.map(({ kind, controller, blockOwnerDeletion }) => [
          kind,
          controller,
          blockOwnerDeletion,
        ]),
      )
    },
  },
  {
    name: 'the pod that waits is the one that goes when there are to be fewer',
    play: async (played) => {
      const { client, request, name, until } = played
      await start(played)
      await client.create(deployments, workload('Deployment', name, { replicas: 2, template: asks('1500m') }))
      await until(async () => (await running(played)).length === 1 && (await own(played, pods)).length === 2)
      const [kept] = await running(played)
      await request('PATCH', `${deployments}/${name}/scale`, { spec: { replicas: 1 } })
      await until(async () => (await own(played, pods)).length === 1)
      const [left] = await own(played, pods)
      return metaOf(kept as Json).uid === metaOf(left as Json).uid
    },
  },
  {
    name: 'a new template has a ReplicaSet of its own, which takes over',
    play: async (played) => {
      const { client, name, until } = played
      await start(played)
      await client.create(deployments, workload('Deployment', name, { replicas: 2 }))
      await until(async () => (await running(played)).length === 2)
      await client.mergePatch(`${deployments}/${name}`, {
        spec: { template: { metadata: { annotations: { a: 'b' } } } },
      })
      const replicas = async () => (await own(played, replicaSets)).map((set) => String(specOf(set)['replicas'])).sort()
      await until(async () => (await replicas()).join() === '0,2' && (await running(played)).length === 2)
      return replicas()
    },
  },
  {
    name: 'a StatefulSet numbers its pods',
    play: async (played) => {
      const { client, name, until } = played
      await start(played)
      const list = resourcePath('statefulsets', undefined, namespace)
      await client.create(list, workload('StatefulSet', name, { replicas: 2, serviceName: name }))
      await until(async () => (await running(played)).length === 2)
      return (await own(played, pods)).map((one) => [metaName(one).slice(name.length), labelKeys(one)])
    },
  },
  {
    name: 'a DaemonSet has a pod on its Node, also where it takes no others',
    play: async (played) => {
      const { client, name, until } = played
      await start(played, { unschedulable: true })
      const { replicas: _, ...spec } = specOf(workload('DaemonSet', name))
      await client.create(resourcePath('daemonsets', undefined, namespace), { ...workload('DaemonSet', name), spec })
      await until(async () => (await running(played)).length === 1)
      const [one] = await running(played)
      return [
        specOf(one as Json)['nodeName'] === name,
        labelKeys(one as Json),
        (specOf(one as Json)['tolerations'] as readonly Json[]).map(({ key, effect, tolerationSeconds }) => [
          key,
          effect,
          tolerationSeconds ?? null,
        ]),
      ]
    },
  },
  {
    name: 'a Job is complete once its pods have succeeded',
    play: async (played) => {
      const { request, name, until } = played
      await start(played)
      const { template } = specOf(workload('Job', name)) as { template: { metadata: Json; spec: Json } }
      const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`
      await request('POST', jobs, {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name, namespace },
        spec: { completions: 2, template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
      })
      const job = async () => request('GET', `${jobs}/${name}`)
      await until(async () => conditionOf(await job(), 'Complete')?.status === 'True')
      return statusOf(await job())['succeeded']
    },
  },
]

const budgets = resourcePath('poddisruptionbudgets', undefined, namespace)

const disruption: readonly Row[] = [
  ...[{ maxUnavailable: 1 }, { minAvailable: 1 }, { maxUnavailable: '50%' }, { minAvailable: '40%' }].map(
    (spec): Row => ({
      name: `a budget of ${JSON.stringify(spec)} counts its pods, and lets as many go`,
      play: async (played) => {
        const { client, request, name, until } = played
        await start(played)
        await client.create(
          deployments,
          workload('Deployment', name, { replicas: 3, template: { terminationGracePeriodSeconds: 600 } }),
        )
        await until(async () => (await running(played)).length === 3)
        const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace } }
        await client.create(budgets, { ...budget, spec: { ...spec, selector: { matchLabels: { app: name } } } })
        const status = async () => statusOf(await client.get(`${budgets}/${name}`))
        await until(async () => Number((await status())['disruptionsAllowed'] ?? 0) > 0)
        const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed } = await status()
        const codes = []
        // Where none comes in their place.
        await client.mergePatch(nodePath(name), { spec: { unschedulable: true } })
        for (const one of await own(played, pods))
          codes.push(await said(request('POST', `${podPath(metaName(one))}/eviction`, eviction(metaName(one)))))
        return [expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed, codes]
      },
    }),
  ),
  {
    name: 'a pod on a Node with a kubelet ends when its grace is over',
    play: async (played) => {
      const { client, name, until } = played
      await start(played)
      await client.create(pods, podOf(name))
      await until(async () => (await running(played)).length === 1)
      await client.delete(podPath(name))
      await until(async () => !(await exists(client, podPath(name))))
      return 'gone'
    },
  },
  {
    name: 'a taint that a pod does not bear ends it',
    play: async (played) => {
      const { client, name, until } = played
      await start(played)
      await client.create(pods, podOf(name))
      await until(async () => (await running(played)).length === 1)
      await client.mergePatch(nodePath(name), { spec: { taints: [{ key: 'mine', effect: 'NoExecute' }] } })
      await until(async () => !(await exists(client, podPath(name))))
      return 'gone'
    },
  },
  {
    name: 'what an owner leaves behind on purpose stays, without an owner',
    play: async (played) => {
      const { client, request, name, until } = played
      await client.create(deployments, workload('Deployment', name, { replicas: 0 }))
      await until(async () => (await own(played, replicaSets)).length === 1)
      await request('DELETE', `${deployments}/${name}?propagationPolicy=Orphan`)
      await until(async () => !(await exists(client, `${deployments}/${name}`)))
      const [set] = await own(played, replicaSets)
      return ownerOf(set as Json).ownerReferences ?? null
    },
  },
  {
    name: 'an owner that goes last waits for what it owns',
    play: async (played) => {
      const { client, request, name, until } = played
      await client.create(deployments, workload('Deployment', name, { replicas: 0 }))
      await until(async () => (await own(played, replicaSets)).length === 1)
      const [set] = await own(played, replicaSets)
      const held = `${replicaSets}/${metaName(set as Json)}`
      await client.mergePatch(held, { metadata: { finalizers: ['example.com/held'] } })
      await request('DELETE', `${deployments}/${name}?propagationPolicy=Foreground`)
      await until(async () => metaOf(await client.get(held)).deletionTimestamp !== undefined)
      const waiting = await said(client.get(`${deployments}/${name}`), (object) => metaOf(object).finalizers)
      await client.mergePatch(held, { metadata: { finalizers: null } })
      await until(async () => !(await exists(client, `${deployments}/${name}`)))
      return waiting
    },
  },
  {
    name: 'a volume is bound to the claim that it is for',
    play: async ({ client, name, until }) => {
      const about = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
      await client.create(resourcePath('persistentvolumes'), {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: {
          ...about,
          capacity: { storage: '1Gi' },
          claimRef: { namespace, name },
          csi: { driver: 'example.com', volumeHandle: name },
        },
      })
      const claims = resourcePath('persistentvolumeclaims', undefined, namespace)
      const made = await client.create(claims, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace },
        spec: { ...about, resources: { requests: { storage: '1Gi' } } },
      })
      await until(async () => phaseOf(await client.get(`${claims}/${name}`)) === 'Bound')
      const volume = await client.get(resourcePath('persistentvolumes', name))
      const bound = await client.get(`${claims}/${name}`)
      return [
        phaseOf(made),
        specOf(bound)['volumeName'] === name,
        phaseOf(volume),
        (bound['metadata'] as Json)['annotations'],
      ]
    },
  },
]

const metaName = (object: Json) => String((object['metadata'] as Json)['name'])
const eviction = (name: string) => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } })

/** What scenarios rely on at the controllers, the scheduler and kubelets. */
export const controllerRows: readonly Row[] = [...scheduling, ...workloads, ...disruption]
