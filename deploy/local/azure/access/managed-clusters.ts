import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { shownCluster } from '../agent-pools/cluster-pools.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, page } from '../server/arm-request.ts'
import type { SimulatorConfig } from '../server/config.ts'
import { clusterBody, clustersOf, type KnownCluster } from './cluster-body.ts'

const type = 'Microsoft.ContainerService/managedClusters'

/** Microsoft.ContainerService/managedClusters, to be read only, with the kubeconfig of a user. */
export function registerManagedClusters(app: FastifyInstance, deps: ArmDeps): void {
  const { config } = deps
  const path = `/subscriptions/:subscription/resourceGroups/:group/providers/${type}`
  const bodies = (clusters: readonly KnownCluster[]) => clusters.map((cluster) => shownCluster(cluster, deps))
  app.get(`/subscriptions/:subscription/providers/${type}`, (request: ArmRequest) => {
    // Names repeat, and pages go by the name.
    const value = bodies(clustersOf(config))
    return value.length > (config.pageSize ?? value.length) ? page(request, config, value) : { value }
  })
  app.get(path, (request: ArmRequest) => page(request, config, bodies(inGroup(request, config))))
  app.get(`${path}/:name`, (request: ArmRequest) => shownCluster(foundCluster(request, config), deps))
  app.post(`${path}/:name/listClusterUserCredential`, (request: ArmRequest) => {
    const kubeconfig = kubeconfigOf(foundCluster(request, config), config)
    return { kubeconfigs: [{ name: 'clusterUser', value: Buffer.from(kubeconfig).toString('base64') }] }
  })
}

function inGroup<T>({ params }: ArmRequest<T>, config: SimulatorConfig): readonly KnownCluster[] {
  const group = (params['group'] ?? '').toLowerCase()
  return clustersOf(config).filter(({ resourceGroup }) => resourceGroup.toLowerCase() === group)
}

/** The cluster that a request names. Errors: 404. */
export function foundCluster<T>(request: ArmRequest<T>, config: SimulatorConfig): KnownCluster {
  const { name = '', group = '' } = request.params
  const cluster = inGroup(request, config).find((each) => each.name.toLowerCase() === name.toLowerCase())
  if (cluster === undefined) throw resourceNotFound(type, name, group)
  return cluster
}

/** The API server that VMs join, or one that nobody runs; as `az aks get-credentials` gets it, as JSON, which is YAML as well. */
function kubeconfigOf(cluster: KnownCluster, config: SimulatorConfig): string {
  const { kubernetes } = config
  const { fqdn } = clusterBody(cluster, config)['properties'] as { readonly fqdn?: string }
  const authorityFile = kubernetes?.caFile || config.certFile
  const authority = authorityFile === undefined ? Buffer.alloc(0) : readFileSync(authorityFile)
  const { name } = cluster
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [
      {
        name,
        cluster: {
          server: kubernetes?.server || `https://${fqdn}:443`,
          'certificate-authority-data': authority.toString('base64'),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: 'clusterUser' } }],
    users: [{ name: 'clusterUser', user: { token: 'a-secret-of-the-user' } }],
  })
}
