import { nodeClass } from '../applied-objects.ts'
import { need, patchPool, pod, pool, requirePool, runPrinted, typeKey } from './objects.ts'
import type { Situation } from './situation.ts'

const [small, refused, short, slow] = ['Standard_D2s_v5', 'Standard_E2s_v5', 'Standard_F2s_v2', 'Standard_D2as_v5']

/** Of another network than the cluster's. */
const otherSubnet =
  '/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/MC_local_joiner_westus2/providers/Microsoft.Network/virtualNetworks/mine/subnets/nodes'

/** Denies NodeClaims of one NodePool that lack a label. */
const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'refused-by-policy' },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: ['karpenter.sh'], apiVersions: ['*'], operations: ['CREATE'], resources: ['nodeclaims'] },
      ],
    },
    matchConditions: [
      {
        name: 'pool',
        expression:
          "has(object.metadata.labels) && 'karpenter.sh/nodepool' in object.metadata.labels && object.metadata.labels['karpenter.sh/nodepool'] == 'refused'",
      },
    ],
    validations: [
      {
        expression: "'cost-center' in object.metadata.labels",
        message: 'nodes need the label cost-center',
      },
    ],
  },
}
const binding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'refused-by-policy' },
  spec: { policyName: 'refused-by-policy', validationActions: ['Deny'] },
}

/** What has to be before Joiner starts: a quota without room. */
export const settings = { quotas: { standardFSv2Family: 0 } }

/** Pods for which a node could be planned, but cannot be had. */
export const ofSupply: readonly Situation[] = [
  {
    name: 'no-pool',
    arrange: (world) => world.apply(pod('no-pool')),
    says: [/unschedulable \(node-pools\): no NodePool that the pods ask for can have new nodes/],
    remedy: /create the NodePool that the pods ask for \(karpenter.sh\/nodepool In \[(no-pool)\]\)/,
    apply: (world, [, name = '']) => world.apply(pool(name)),
  },
  {
    name: 'no-class-yet',
    arrange: (world) => world.apply(pool('no-class-yet', { nodeClass: 'absent' }), pod('no-class-yet')),
    says: [/unschedulable \(node-pools\): .*NodePool "no-class-yet" is not ready: there is no AKSNodeClass "absent"/],
    remedy: /create AKSNodeClass "(absent)"/,
    apply: (world, [, name = '']) => world.apply(nodeClass(name)),
  },
  {
    name: 'class-unready',
    arrange: (world) =>
      world.apply(
        { ...nodeClass('class-unready'), spec: { vnetSubnetID: otherSubnet } },
        pool('class-unready', { nodeClass: 'class-unready' }),
        pod('class-unready'),
      ),
    says: [
      /unschedulable \(node-pools\): .*AKSNodeClass "class-unready": SubnetsReady: .*is outside of the cluster's network/,
    ],
    remedy: /make AKSNodeClass "(class-unready)" ready/,
    apply: (world, [, name = '']) =>
      world.operator.api('PATCH', `/apis/karpenter.azure.com/v1beta1/aksnodeclasses/${name}`, {
        spec: { vnetSubnetID: null },
      }),
  },
  {
    name: 'quota',
    arrange: (world) => world.apply(pool('quota', { requirements: [need(typeKey, short)] }), pod('quota')),
    says: [
      /unschedulable \(quota\): NodePool "quota": no offering .* vCPU quota of family standardfsv2family has no room for 2 vCPUs/,
    ],
    remedy: /let NodePool "quota" allow more instance types/,
    apply: (world) => requirePool(world, 'quota', need(typeKey, short, small)),
  },
  {
    name: 'refused-by-azure',
    arrange: async (world) => {
      await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', match: { sku: refused }, count: 10_000 })
      await world.apply(pool('refused-by-azure', { requirements: [need(typeKey, refused)] }), pod('refused-by-azure'))
    },
    says: [
      /unschedulable \(capacity\): NodePool "refused-by-azure": no offering .*Azure refused Standard_E2s_v5 on-demand/,
    ],
    remedy: /let NodePool "refused-by-azure" allow more instance types/,
    apply: (world) => requirePool(world, 'refused-by-azure', need(typeKey, refused, small)),
  },
  {
    // What is for sale is too small, and what is large enough is refused: Azure is to blame, and not the pod.
    name: 'larger-refused',
    arrange: async (world) => {
      const sizes = need(typeKey, 'Standard_E2as_v5', 'Standard_E4as_v5')
      await world.fault({
        kind: 'failSync',
        code: 'SkuNotAvailable',
        match: { sku: 'Standard_E4as_v5' },
        count: 10_000,
      })
      await world.apply(
        pool('larger-refused', { requirements: [sizes] }),
        pod('larger-refused', { requests: { cpu: '3' } }),
      )
    },
    says: [
      /unschedulable \(capacity\): NodePool "larger-refused": no offering .*Azure refused Standard_E4as_v5 on-demand.*\(SKUNotAvailable\), left out for \S+ more \(until/,
      /left after requirements 2, resources 1, offerings 0, limits 0; 1 type would do, and it cannot be bought as on-demand now: Standard_E4as_v5/,
      /joiner blocked capacity list, joiner blocked capacity clear --all/,
    ],
    remedy: /let NodePool "larger-refused" allow more instance types/,
    apply: (world) => requirePool(world, 'larger-refused', need(typeKey, 'Standard_D4s_v5')),
  },
  {
    name: 'refused',
    arrange: async (world) => {
      await world.apply(policy, binding)
      await world.apply(pool('refused'), pod('refused'))
    },
    says: [
      /held back \(refused\): the API server refused the NodeClaim of NodePool "refused" .*nodes need the label cost-center/,
    ],
    remedy: /change what the message names in NodePool "refused"/,
    apply: (world) => patchPool(world, 'refused', { template: { metadata: { labels: { 'cost-center': 'a' } } } }),
  },
  {
    name: 'startup-taint',
    arrange: (world) =>
      world.apply(
        pool('startup-taint', { template: { startupTaints: [{ key: 'example.com/starting', effect: 'NoSchedule' }] } }),
        pod('startup-taint'),
      ),
    says: [
      /planned on NodeClaim startup-taint-\S+: node \S+ of NodeClaim \S+ is not initialized yet: StartupTaint "example.com\/starting:NoSchedule" still exists/,
    ],
    remedy: /or remove it: (kubectl taint node .*-)$/m,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'slow-azure',
    arrange: async (world) => {
      await world.fault({ kind: 'latency', operation: 'PUT virtualMachines', ms: 20_000, match: { sku: slow } })
      await world.apply(pool('slow-azure', { requirements: [need(typeKey, slow)] }), pod('slow-azure'))
    },
    says: [/planned on NodeClaim slow-azure-\S+: NodeClaim slow-azure-\S+ waits for its VM/],
    // There is nothing to do: the VM comes.
    remedy: /^/,
    apply: async () => {},
  },
]
