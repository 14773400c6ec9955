import {
  need,
  patchPool,
  pod,
  pool,
  replacePod,
  requirePool,
  runPrinted,
  typeKey,
  untilBound,
  zoneKey,
} from './objects.ts'
import type { Situation } from './situation.ts'

const [small, large] = ['Standard_D2s_v5', 'Standard_D4s_v5']
const zone = (number: number) => `westus2-${number}`
const archKey = 'kubernetes.io/arch'
const toleration = { key: 'team', operator: 'Equal', value: 'a', effect: 'NoSchedule' }
const spread = (whenUnsatisfiable: string) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: zoneKey,
      whenUnsatisfiable,
      labelSelector: { matchLabels: { app: 'spread' } },
      minDomains: 3,
    },
  ],
})
const term = (app: string) => ({ topologyKey: zoneKey, labelSelector: { matchLabels: { app } } })
const apart = (app: string) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } },
})

/** Pods that ask for what no node can have. */
export const ofRequirements: readonly Situation[] = [
  {
    name: 'too-big',
    arrange: (world) => world.apply(pool('too-big'), pod('too-big', { requests: { cpu: '3' } })),
    says: [/unschedulable \(too-big\): NodePool "too-big": needs .* more cpu than Standard_D2s_v5 leaves for pods/],
    remedy:
      /let NodePool "too-big" allow (\S+), .* for node.kubernetes.io\/instance-type in spec.template.spec.requirements/,
    apply: (world, [, type = '']) => requirePool(world, 'too-big', need(typeKey, small, type)),
  },
  {
    name: 'gpu',
    arrange: (world) => world.apply(pool('gpu'), pod('gpu', { requests: { cpu: '100m', 'nvidia.com/gpu': '1' } })),
    says: [/unschedulable \(too-big\): NodePool "gpu": needs 1 more nvidia.com\/gpu than/],
    remedy: /lower spec.containers\[\].resources.requests of the pods by 1 nvidia.com\/gpu/,
    apply: (world) => replacePod(world, pod('gpu')),
  },
  {
    name: 'tainted',
    arrange: (world) =>
      world.apply(
        pool('tainted', { template: { taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] } }),
        pod('tainted'),
      ),
    says: [/unschedulable \(taints\): NodePool "tainted": its taint team=a:NoSchedule is not tolerated/],
    remedy: /add a toleration for team=a:NoSchedule to the pods/,
    apply: (world) => replacePod(world, pod('tainted', { spec: { tolerations: [toleration] } })),
  },
  {
    name: 'label',
    arrange: (world) => world.apply(pool('label'), pod('label', { selector: { 'example.com/team': 'a' } })),
    says: [/unschedulable \(requirements\): NodePool "label": label "example.com\/team" does not have known values/],
    remedy: /give the nodes of NodePool "label" the label: (\S+): (\S+) in spec.template.metadata.labels/,
    apply: (world, [, key = '', value = '']) =>
      patchPool(world, 'label', { template: { metadata: { labels: { [key]: value } } } }),
  },
  {
    name: 'arch',
    arrange: (world) =>
      world.apply(
        pool('arch', { requirements: [need(typeKey, small), need(archKey, 'amd64')] }),
        pod('arch', { selector: { [archKey]: 'arm64' } }),
      ),
    says: [
      /unschedulable \(requirements\): NodePool "arch": .*kubernetes.io\/arch In \[arm64\] not in kubernetes.io\/arch In \[amd64\]/,
    ],
    remedy: /let the pods ask for amd64 in place of arm64: kubernetes.io\/arch in nodeSelector/,
    apply: (world) => replacePod(world, pod('arch', { selector: { [archKey]: 'amd64' } })),
  },
  {
    name: 'zone',
    arrange: (world) =>
      world.apply(
        pool('zone', { requirements: [need(typeKey, small), need(zoneKey, zone(1))] }),
        pod('zone', { selector: { [zoneKey]: zone(2) } }),
      ),
    says: [/unschedulable \(requirements\): NodePool "zone"/],
    remedy: /let NodePool "zone" allow (westus2-2) for topology.kubernetes.io\/zone/,
    apply: (world, [, value = '']) => requirePool(world, 'zone', need(typeKey, small), need(zoneKey, zone(1), value)),
  },
  {
    name: 'min-values',
    arrange: (world) =>
      world.apply(
        pool('min-values', { requirements: [{ ...need(typeKey, small, large), minValues: 2 }] }),
        pod('min-values', { requests: { cpu: '3' } }),
      ),
    says: [
      /unschedulable \(requirements\): NodePool "min-values": 1 type would do, with 1 different values .* minValues asks for 2/,
    ],
    remedy: /lower minValues of node.kubernetes.io\/instance-type in .* of NodePool "min-values" to (\d)/,
    apply: (world, [, count]) =>
      requirePool(world, 'min-values', { ...need(typeKey, small, large), minValues: Number(count) }),
  },
  {
    name: 'spread',
    arrange: async (world) => {
      const first = pod('spread', { name: 'spread-first', spec: spread('DoNotSchedule'), pool: 'spread' })
      await world.apply(pool('spread', { requirements: [need(typeKey, small), need(zoneKey, zone(1))] }), first)
      await untilBound(world, 'spread-first')
      await world.apply(pod('spread', { spec: spread('DoNotSchedule') }))
    },
    says: [
      /unschedulable \(topology\): NodePool "spread": unsatisfiable topology constraint for topology spread, key=topology.kubernetes.io\/zone/,
    ],
    remedy: /let NodePool "spread" offer more values of topology.kubernetes.io\/zone/,
    apply: (world) => requirePool(world, 'spread', need(typeKey, small), need(zoneKey, zone(1), zone(2), zone(3))),
  },
  {
    name: 'anti-affinity',
    arrange: async (world) => {
      const first = pod('anti-affinity', { name: 'anti-affinity-first', spec: apart('anti-affinity') })
      await world.apply(pool('anti-affinity', { requirements: [need(typeKey, small), need(zoneKey, zone(1))] }), first)
      await untilBound(world, 'anti-affinity-first')
      await world.apply(pod('anti-affinity', { spec: apart('anti-affinity') }))
    },
    says: [
      /unschedulable \(topology\): NodePool "anti-affinity": unsatisfiable topology constraint for pod anti-affinity/,
    ],
    remedy: /let NodePool "anti-affinity" offer more values of topology.kubernetes.io\/zone/,
    apply: (world) =>
      requirePool(world, 'anti-affinity', need(typeKey, small), need(zoneKey, zone(1), zone(2), zone(3))),
  },
  {
    name: 'affinity',
    arrange: (world) =>
      world.apply(
        pool('affinity'),
        pod('affinity', {
          spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('nobody')] } } },
        }),
      ),
    says: [/unschedulable \(topology\): NodePool "affinity": unsatisfiable topology constraint for pod affinity/],
    remedy: /make the pod affinity on topology.kubernetes.io\/zone preferred/,
    apply: (world) => {
      const preferred = [{ weight: 1, podAffinityTerm: term('nobody') }]
      const podAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred }
      return replacePod(world, pod('affinity', { spec: { affinity: { podAffinity } } }))
    },
  },
  {
    name: 'not-ours',
    arrange: (world) =>
      world.apply(
        pool('not-ours'),
        pod('not-ours', {
          pool: null,
          spec: {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [
                    { matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] },
                  ],
                },
              },
            },
          },
        }),
      ),
    says: [/unschedulable \(requirements\): .*configured to not run on a Karpenter provisioned node/],
    remedy: /remove karpenter.sh\/nodepool DoesNotExist from the affinity of the pods/,
    apply: (world) => replacePod(world, pod('not-ours')),
  },
  {
    name: 'host-port',
    arrange: (world) => {
      const metadata = { name: 'host-port', namespace: 'default' }
      const { spec } = pod('host-port', { hostPort: 8080 }) as { readonly spec: object }
      const selector = { matchLabels: { app: 'of-daemons' } }
      const template = { metadata: { labels: selector.matchLabels }, spec }
      const daemons = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { selector, template } }
      return world.apply(pool('host-port'), daemons).then(() => world.apply(pod('host-port', { hostPort: 8080 })))
    },
    says: [/unschedulable \(other\): NodePool "host-port": daemons hold host port 8080/],
    remedy: /let the pods use another hostPort than 8080/,
    apply: (world) => replacePod(world, pod('host-port', { hostPort: 8081 })),
  },
  {
    name: 'limit-cpu',
    arrange: (world) => world.apply(pool('limit-cpu', { spec: { limits: { cpu: '1' } } }), pod('limit-cpu')),
    says: [
      /unschedulable \(limits\): NodePool "limit-cpu": limits: limit 1 cpu, in use 0 cpu, the smallest type left has 2 cpu/,
    ],
    remedy: /raise the limits: (kubectl patch nodepool limit-cpu .*)$/m,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'limit-nodes',
    arrange: (world) => world.apply(pool('limit-nodes', { spec: { limits: { nodes: '0' } } }), pod('limit-nodes')),
    says: [/unschedulable \(limits\): NodePool "limit-nodes": limits: limit 0 nodes, in use 0 nodes/],
    remedy: /raise the limits: (kubectl patch nodepool limit-nodes .*)$/m,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'gated',
    arrange: (world) =>
      world.apply(pool('gated'), pod('gated', { spec: { schedulingGates: [{ name: 'example.com/later' }] } })),
    says: [/not planned: its spec.schedulingGates keep kube-scheduler from it/],
    remedy: /let the component that set the gates remove them/,
    apply: (world) =>
      world.operator.api('PATCH', '/api/v1/namespaces/default/pods/gated', { spec: { schedulingGates: [] } }),
  },
]
