import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import {
  claim,
  containersOf,
  deployment,
  mapPath,
  metaOf,
  namespace,
  node,
  nodePath,
  pod,
  podPath,
  pods,
  pool,
  pools,
  type Row,
  said,
} from './played.ts'

const binding = (name: string, target: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name, namespace },
  target: { apiVersion: 'v1', kind: 'Node', name: target },
})

const podRows: readonly Row[] = [
  {
    name: 'a pod is bound once',
    play: async ({ client, request, name }) => {
      await client.create(pods, withSpec(pod(name), { schedulerName: 'none' }))
      const bind = () => said(request('POST', `${podPath(name)}/binding`, binding(name, 'no-such-node')))
      const answers = [await bind(), await bind()]
      const { spec, status } = await client.get(podPath(name))
      const { conditions = [] } = status as { conditions?: readonly Json[] }
      return [answers, (spec as Json)['nodeName'], conditions.map(({ type, status: is }) => [type, is])]
    },
  },
  {
    name: 'a pod that is bound has the region and zone of its Node as labels, and a Node has a TTL of Secrets',
    play: async ({ client, request, name, until }) => {
      const region = { 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': 'r-1' }
      const labels = { ...region, 'topology.kubernetes.io/other': 'o', row: name }
      const ttl = 'node.alpha.kubernetes.io/ttl'
      const ttlOf = async () => (metadataOf(await client.get(nodePath(name)))['annotations'] as Json | undefined)?.[ttl]
      await client.create(resourcePath('nodes'), node(name, { labels }))
      await until(async () => (await ttlOf()) !== undefined)
      const made = withSpec(pod(name, { labels: { 'topology.kubernetes.io/zone': 'own' } }), { schedulerName: 'none' })
      await client.create(pods, made)
      await request('POST', `${podPath(name)}/binding`, binding(name, name))
      return [await ttlOf(), metadataOf(await client.get(podPath(name)))['labels']]
    },
  },
  {
    name: 'an eviction of a pod with another UID is a conflict',
    play: async ({ client, request, name }) => {
      await client.create(pods, pod(name, { nodeName: 'no-such-node' }))
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace },
        deleteOptions: { preconditions: { uid: 'other' } },
      }
      // A real server tries again for ten seconds.
      return said(request('POST', `${podPath(name)}/eviction`, body))
    },
  },
  {
    name: 'a pod that is being deleted is evicted again, whatever its budget',
    play: async ({ client, name }) => {
      const made = await client.create(pods, pod(name, { labels: { app: name }, nodeName: 'no-such-node' }))
      await client.create(resourcePath('poddisruptionbudgets', undefined, namespace), {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace },
        spec: { maxUnavailable: 0, selector: { matchExpressions: [{ key: 'app', operator: 'In', values: [name] }] } },
      })
      await client.patchStatus(podPath(name), { status: { phase: 'Running' } })
      await client.delete(podPath(name))
      return said(client.evict(namespace, name, metaOf(made).uid))
    },
  },
  {
    name: 'a pod that is being deleted and has time left stays when it is changed',
    play: async ({ client, name }) => {
      await client.create(pods, pod(name, { nodeName: 'no-such-node' }))
      await client.delete(podPath(name))
      await client.mergePatch(podPath(name), { metadata: { labels: { a: 'b' } } })
      return said(client.get(podPath(name)), (object) => (object['metadata'] as Json)['labels'])
    },
  },
]

const metadataOf = (object: Json) => object['metadata'] as Json
const withSpec = (object: Json, more: Json): Json => ({ ...object, spec: { ...(object['spec'] as Json), ...more } })
const picked = (object: unknown, keys: readonly string[]) => keys.map((key) => (object as Json)[key] ?? null)
const defaults: readonly Row[] = [
  {
    name: 'a NodePool has its defaults',
    play: ({ client, name }) => said(client.create(pools, pool(name)), ({ spec }) => spec),
  },
  {
    name: 'a NodeClaim has its defaults',
    play: ({ client, name }) => said(client.create(resourcePath('nodeclaims'), claim(name)), ({ spec }) => spec),
  },
  {
    name: 'a node class has its defaults',
    play: ({ client, name }) =>
      said(client.create(resourcePath('aksnodeclasses'), nodeClass(name)), ({ spec }) => spec),
  },
  {
    name: 'null is a default, where there is one',
    play: ({ client, name }) =>
      said(
        client.create(pools, pool(name, { template: { expireAfter: null } })),
        ({ spec }) => ((spec as Json)['template'] as Json)['spec'],
      ),
  },
  {
    name: 'a field that is not known is not kept',
    play: ({ client, name }) =>
      said(
        client.create(resourcePath('aksnodeclasses'), nodeClass(name, { what: 'is this' })),
        ({ spec }) => 'what' in (spec as Json),
      ),
  },
  {
    name: 'a pod has its defaults',
    play: async ({ client, name }) => {
      const made = await client.create(
        pods,
        withSpec(pod(name), {
          containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1' }, requests: { memory: '1Gi' } } }],
        }),
      )
      const keys = ['terminationGracePeriodSeconds', 'schedulerName', 'restartPolicy', 'tolerations', 'priority']
      return [
        picked(made['spec'], keys),
        containersOf(made).map((one) => one['resources']),
        (made['status'] as Json)['phase'],
      ]
    },
  },
  {
    name: 'a pod that tolerates everything needs no tolerations more',
    play: ({ client, name }) =>
      said(
        client.create(pods, withSpec(pod(name), { tolerations: [{ operator: 'Exists' }] })),
        ({ spec }) => (spec as Json)['tolerations'],
      ),
  },
  {
    name: 'a Deployment has its defaults',
    play: async ({ client, name }) => {
      const { spec } = deployment(name)
      const { replicas: _, ...rest } = spec as Json
      const made = await client.create(resourcePath('deployments', undefined, namespace), {
        ...deployment(name),
        spec: rest,
      })
      return picked(made['spec'], ['replicas', 'strategy'])
    },
  },
  {
    name: 'a new Node takes no pods',
    play: ({ client, name }) =>
      said(client.create(resourcePath('nodes'), node(name)), ({ spec }) => (spec as Json)['taints']),
  },
  {
    name: 'an empty list of taints is none',
    play: async ({ client, name }) => {
      const path = resourcePath('nodes', name)
      await client.create(resourcePath('nodes'), node(name))
      const { spec } = await client.mergePatch(path, { spec: { taints: [] } })
      const tested = client.jsonPatch(path, [{ op: 'test', path: '/spec/taints', value: [] }])
      return [(spec as Json)['taints'] ?? 'none', await said(tested, () => 'there')]
    },
  },
]

const nodeClass = (name: string, spec: Json = {}): Json => ({
  apiVersion: 'karpenter.azure.com/v1beta1',
  kind: 'AKSNodeClass',
  metadata: { name },
  spec,
})

const requirement = (more: Json) => ({
  template: { requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'], ...more }] },
})

/** Invalid NodePools, by what is wrong with them. */
const wrongPools: Readonly<Record<string, Json & { template?: Json }>> = {
  'an operator that there is not': requirement({ operator: 'Is' }),
  'no key': requirement({ key: undefined }),
  'a time that is none': { template: { expireAfter: 'soon' } },
  'a weight above the most': { weight: 101 },
  'a weight in letters': { weight: 'heavy' },
  'a policy that there is not': { disruption: { consolidationPolicy: 'Never', consolidateAfter: '1s' } },
  'values that are no list': requirement({ values: 'amd64' }),
  'fewer than no replicas': { replicas: -1 },
}

const refusals: readonly Row[] = [
  ...Object.entries(wrongPools).map(
    ([what, spec]): Row => ({
      name: `a NodePool with ${what} is refused`,
      play: ({ client, name }) => said(client.create(pools, pool(name, spec))),
    }),
  ),
  {
    name: 'a patch that makes an object invalid is refused, and changes nothing',
    play: async ({ client, name }) => {
      await client.create(pools, pool(name, { weight: 1 }))
      return [
        await said(client.mergePatch(`${pools}/${name}`, { spec: { weight: 0 } })),
        await said(client.get(`${pools}/${name}`), ({ spec }) => (spec as Json)['weight']),
      ]
    },
  },
  {
    name: 'a NodePool becomes neither static nor dynamic; the scale of a static one counts its nodes',
    play: async ({ client, request, name }) => {
      const path = `${pools}/${name}`
      await client.create(pools, pool(name, { replicas: 1 }))
      await client.patchStatus(path, { status: { nodes: 3 } })
      const scale = { spec: { replicas: 2 } }
      const scaled = await said(request('PATCH', `${path}/scale`, scale), ({ spec, status }) => [spec, status])
      const dynamic = await said(client.mergePatch(path, { spec: { replicas: null } }))
      await client.create(pools, pool(`${name}-dynamic`))
      return [scaled, dynamic, await said(request('PATCH', `${path}-dynamic/scale`, scale))]
    },
  },
  ...['/SUBSCRIPTIONS/a/resourcegroups/b/', '/subscriptions/a/'].map(
    (before): Row => ({
      name: `an AKSNodeClass with a subnet in ${before}`,
      play: ({ client, name }) => {
        const vnetSubnetID = `${before}providers/Microsoft.Network/virtualNetworks/c/subnets/d`
        return said(client.create(resourcePath('aksnodeclasses'), nodeClass(name, { vnetSubnetID })))
      },
    }),
  ),
  {
    name: 'a pod without containers is refused',
    play: ({ client, name }) => said(client.create(pods, withSpec(pod(name), { containers: [] }))),
  },
  {
    name: 'a pod of a priority class that there is not is refused',
    play: ({ client, name }) => said(client.create(pods, withSpec(pod(name), { priorityClassName: name }))),
  },
  {
    name: 'a Deployment that does not select its own pods is refused',
    play: ({ client, name }) =>
      said(
        client.create(
          resourcePath('deployments', undefined, namespace),
          deployment(name, { selector: { matchLabels: { app: 'other' } } }),
        ),
      ),
  },
  {
    name: 'a path that there is not is not found',
    play: ({ request, name }) => said(request('GET', `${mapPath(name)}/nothing`)),
  },
]

/** Pods, defaults and refusals. */
export const objectRows: readonly Row[] = [...podRows, ...defaults, ...refusals]
