// What commands find in a cluster: Joiner's settings, and a way to Temporal through the API server.
import { readFile } from 'node:fs/promises'
import { namespace, operatorAccount } from '../../deploy/local/installation-accounts.ts'
import { portForwarding } from '../port-forwarding.ts'
import type { World } from '../world.ts'

const service = { name: 'temporal-frontend', namespace: 'temporal' }

/** From now on a kubeconfig is all that a command needs. */
export async function makeReachable(world: World): Promise<void> {
  await installSettings(world)
  await allowForwarding(world)
  await portForwarding(world, { ...service, port: 7233, address: world.cluster.temporalEnv['TEMPORAL_ADDRESS'] ?? '' })
}

/** The ConfigMap and the Deployments that the chart would have installed, which no process runs from. */
/** Nothing of that is left. */
export async function endReachable({ operator, cluster }: World): Promise<void> {
  await cluster.supervisor.stop('kubelet-of-system')
  const remove = (...words: readonly string[]) => operator.kubectl(['delete', ...words])
  await remove('deployment', 'joiner', 'joiner-azure', '-n', namespace)
  await remove('configmap', 'joiner-settings', '-n', namespace)
  await remove('pod', service.name, '-n', service.namespace, '--force')
  await remove('node', 'system-0')
  await remove('namespace', service.namespace, '--wait=false')
}

async function installSettings(world: World): Promise<void> {
  const { env = {} } = world.installation.processSpec()
  const isSecret = (name: string) =>
    /^(TEMPORAL_TLS_.*_PATH|KUBECONFIG|AZURE_FEDERATED|AZURE_CLIENT|AZURE_TENANT)/.test(name)
  const data = Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)))
  const address = `${service.name}.${service.namespace}.svc:7233`
  const secretOf = async (name: string) => (await readFile(env[name] ?? '')).toString('base64')
  const mounted = (name: string) => ({ name, value: `/etc/joiner-temporal/tls/${name.toLowerCase()}` })
  const paths = Object.keys(env).filter((name) => /^TEMPORAL_TLS_.*_PATH$/.test(name))
  const tls = Object.fromEntries(
    await Promise.all(paths.map(async (name) => [name.toLowerCase(), await secretOf(name)] as const)),
  )
  const labels = { app: 'joiner' }
  await world.apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'joiner-settings', namespace },
      data: { ...data, TEMPORAL_ADDRESS: address },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'temporal-client', namespace }, data: tls },
    ...['joiner', 'joiner-azure'].map((name) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: 'joiner',
                image: 'joiner',
                env: [{ name: 'JOINER_ROLES', value: 'core' }, ...paths.map(mounted)],
                volumeMounts: [{ name: 'temporal-tls', mountPath: '/etc/joiner-temporal/tls' }],
              },
            ],
            volumes: [{ name: 'temporal-tls', secret: { secretName: 'temporal-client' } }],
          },
        },
      },
    })),
  )
}

/** What the chart cannot grant, since it does not know Temporal's namespace (docs/command-line.md). */
async function allowForwarding(world: World): Promise<void> {
  const metadata = { name: 'joiner-operator-temporal', namespace: service.namespace }
  const rule = (group: string, resource: string, verb: string) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: [verb],
  })
  const rules = [
    rule('', 'services', 'get'),
    rule('discovery.k8s.io', 'endpointslices', 'list'),
    rule('', 'pods/portforward', 'create'),
    rule('', 'pods/portforward', 'get'),
  ]
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
  const subjects = [{ kind: 'ServiceAccount', name: operatorAccount, namespace }]
  await world.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: service.namespace } },
    { apiVersion, kind: 'Role', metadata, rules },
    { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects },
  )
}
