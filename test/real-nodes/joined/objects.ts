// NodePools whose nodes are VMs with real kubelets, and pods for them.
import { availableParallelism } from 'node:os'
import { stringify } from 'yaml'
import { imageNames } from '../../../deploy/local/real-nodes/images.ts'
import { examplesImage } from '../../../deploy/local/real-nodes/virtual-machine.ts'

type Json = Readonly<Record<string, unknown>>

/** The NodePool whose VMs are left for tests to boot. */
export const heldPool = 'tampered'

export interface Pool {
  readonly name: string
  readonly arch?: 'amd64' | 'arm64'
  readonly capacityType?: 'on-demand' | 'spot'
  readonly nodeClass?: string
  readonly template?: Json
  /** Of its pod. */
  readonly tolerations?: readonly object[]
}

/** A NodePool with one pod that runs on its nodes alone. */
export function poolObjects({
  name,
  arch = 'amd64',
  capacityType = 'on-demand',
  nodeClass = 'default',
  template = {},
  tolerations = [],
}: Pool): readonly object[] {
  const requirements = [
    ['kubernetes.io/arch', arch],
    ['karpenter.sh/capacity-type', capacityType],
    ['karpenter.azure.com/sku-family', 'D'],
    // A kubelet's cpuset has the machine's own cores.
    ['karpenter.azure.com/sku-cpu', String(Math.min(2, availableParallelism()))],
  ].map(([key, value]) => ({ key, operator: 'In', values: [value] }))
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: nodeClass }
  return [
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name },
      spec: {
        template: {
          metadata: { labels: { 'example.com/team': `team-of-${name}` } },
          spec: { requirements, nodeClassRef, expireAfter: 'Never', ...template },
        },
        disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '5s', budgets: [{ nodes: '100%' }] },
      },
    },
    deployment(name, {
      tolerations,
      containers: [{ name: 'pause', image: examplesImage, resources: { requests: { cpu: '100m' } } }],
    }),
  ]
}

/** A pod that is ready once it reaches the API server by its Service, with a token of its own. */
export function probeObjects(pool: string): readonly object[] {
  const name = 'probe'
  const corefile = '.:5353 {\n    errors\n    ready :8181\n    kubernetes cluster.local\n}\n'
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { Corefile: corefile } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'coredns' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
    },
    deployment(
      pool,
      {
        containers: [
          {
            name,
            image: imageNames.coredns,
            args: ['-conf', '/etc/coredns/Corefile'],
            readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
            resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '100Mi' } },
            volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
          },
        ],
        volumes: [{ name: 'config', configMap: { name } }],
      },
      name,
    ),
  ]
}

function deployment(pool: string, spec: Json, name = `on-${pool}`): object {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'karpenter.sh/nodepool': pool },
          terminationGracePeriodSeconds: 5,
          ...spec,
        },
      },
    },
  }
}

/** An AKSNodeClass. */
export function nodeClassObject(name: string, spec: Json = {}): object {
  return {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata: { name },
    spec: { imageFamily: 'Ubuntu', ...spec },
  }
}

/** Objects as kubectl takes them. */
export function yaml(objects: readonly object[]): string {
  return objects.map((one) => stringify(one, { aliasDuplicateObjects: false })).join('---\n')
}
