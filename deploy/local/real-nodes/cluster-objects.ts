// What AKS has in a cluster, and a bare Kubernetes has not: DNS, a class of volumes, workload identity.
import { stringify } from 'yaml'
import { azureIds } from '../cluster.ts'
import { addresses } from './addresses.ts'
import { imageNames } from './images.ts'

/** DNS, and a class of volumes. */
export function systemObjects(): string {
  return yaml([...dns(), storageClass])
}

/** Does to pods with the label what AKS' workload identity webhook does. `azure`: the address of the simulator. */
export function workloadIdentity(azure: string): string {
  const folder = '/var/run/secrets/azure/tokens'
  const name = 'azure-identity-token'
  const environment = {
    AZURE_CLIENT_ID: azureIds.clientId,
    AZURE_TENANT_ID: azureIds.tenantId,
    AZURE_FEDERATED_TOKEN_FILE: `${folder}/${name}`,
    AZURE_AUTHORITY_HOST: `${azure}/`,
  }
  const token = `Object.spec.volumes.projected.sources.serviceAccountToken{audience: "api://AzureADTokenExchange", expirationSeconds: 3600, path: "${name}"}`
  const source = `Object.spec.volumes.projected.sources{serviceAccountToken: ${token}}`
  const added = [
    [
      '/spec/volumes/-',
      `Object.spec.volumes{name: "${name}", projected: Object.spec.volumes.projected{sources: [${source}]}}`,
    ],
    [
      '/spec/containers/0/volumeMounts/-',
      `Object.spec.containers.volumeMounts{name: "${name}", mountPath: "${folder}", readOnly: true}`,
    ],
    ...Object.entries(environment).map(([variable, value]) => [
      '/spec/containers/0/env/-',
      `Object.spec.containers.env{name: "${variable}", value: "${value}"}`,
    ]),
  ]
  const operations = added.map(([path, value]) => `JSONPatch{op: "add", path: "${path}", value: ${value}}`)
  const metadata = { name: 'workload-identity' }
  const apiVersion = 'admissionregistration.k8s.io/v1'
  return yaml([
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
          objectSelector: { matchLabels: { 'azure.workload.identity/use': 'true' } },
        },
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: `[${operations.join(', ')}]` } }],
      },
    },
    { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: metadata.name } },
  ])
}

export const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'local', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
} as const

const corefile = `.:53 {
    errors
    ready :8181
    kubernetes cluster.local in-addr.arpa {
        ttl 5
    }
    cache 5
}
`

const dnsPlace = { name: 'coredns', namespace: 'kube-system' } as const
const dnsLabels = { 'k8s-app': 'kube-dns' } as const

function dns(): readonly object[] {
  const rbac = 'rbac.authorization.k8s.io'
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: dnsPlace },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'coredns' },
      rules: [
        { apiGroups: [''], resources: ['services', 'namespaces'], verbs: ['list', 'watch'] },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'coredns' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'coredns' },
      subjects: [{ kind: 'ServiceAccount', ...dnsPlace }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: dnsPlace, data: { Corefile: corefile } },
    dnsDeployment(),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: 'kube-system', labels: dnsLabels },
      spec: {
        clusterIP: addresses.dns,
        selector: dnsLabels,
        ports: ['UDP', 'TCP'].map((protocol) => ({ name: `dns-${protocol.toLowerCase()}`, port: 53, protocol })),
      },
    },
  ]
}

function dnsDeployment(): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...dnsPlace, labels: dnsLabels },
    spec: {
      selector: { matchLabels: dnsLabels },
      template: {
        metadata: { labels: dnsLabels },
        spec: {
          serviceAccountName: 'coredns',
          priorityClassName: 'system-cluster-critical',
          dnsPolicy: 'Default',
          nodeSelector: { 'kubernetes.azure.com/mode': 'system' },
          tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
          containers: [
            {
              name: 'coredns',
              image: imageNames.coredns,
              args: ['-conf', '/etc/coredns/Corefile'],
              readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 2, timeoutSeconds: 5 },
              resources: { requests: { cpu: '20m', memory: '32Mi' }, limits: { memory: '170Mi' } },
              securityContext: {
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
              },
              volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
            },
          ],
          volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
        },
      },
    },
  }
}

function yaml(objects: readonly object[]): string {
  return objects.map((one) => stringify(one, { aliasDuplicateObjects: false })).join('---\n')
}
