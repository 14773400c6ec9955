import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { azureIds, clusterName, subnetId } from '../../deploy/local/cluster.ts'
import { sshPublicKey } from '../../deploy/local/installation.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { imageNames } from '../../deploy/local/real-nodes/images.ts'
import { until } from '../../deploy/local/real-nodes/until.ts'
import { type PodMemory, podMemory } from './node-resources.ts'

const run = promisify(execFile)
const chart = fileURLToPath(new URL('../../deploy/chart', import.meta.url))

/** The profiles of the chart, by the names that the command has for them. */
export const profiles = { single: ['--set', 'profile=single'], four: [] } as const
export type Profile = keyof typeof profiles

export const namespace = 'joiner'
/** The name of the page, once a release has one. */
export const uiHost = 'joiner.example.com'

/** What a pod of the release takes. */
export interface PodFigures {
  readonly name: string
  readonly restarts: number
  readonly memory: PodMemory
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly labels: Readonly<Record<string, string>> }
  readonly spec: { readonly nodeName?: string }
  readonly status: {
    readonly phase: string
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly {
      readonly containerID?: string
      readonly restartCount: number
      readonly ready: boolean
      readonly lastState?: { readonly terminated?: { readonly reason: string } }
    }[]
  }
}

/** A release of the chart, as docs/install-aks.md installs it, on a node that runs its pods. */
export class Release {
  readonly #cluster: LocalCluster
  readonly #operator: Operator

  constructor(cluster: LocalCluster, operator: Operator) {
    this.#cluster = cluster
    this.#operator = operator
  }

  async install(profile: Profile): Promise<void> {
    const values = join(this.#cluster.stateDir, 'values.yaml')
    await writeFile(values, stringify(valuesFor(this.#cluster)))
    await this.helm(['install', 'joiner', chart, '--create-namespace', '--values', values, ...profiles[profile]])
  }

  /** Upgrades it to other values, with the page of `joiner ui`, as docs/upgrade.md does. Errors: not all pods of Joiner are replaced and ready. */
  upgrade(): Promise<void> {
    const values = `settings.logLevel=debug,ui.enabled=true,ui.host=${uiHost},ui.allowedNamespaces={proxy}`
    return this.#replaced(['upgrade', 'joiner', chart, '--reset-then-reuse-values', '--set', values])
  }

  /** Takes the upgrade back. Errors: not all pods of Joiner are replaced and ready. */
  rollback(): Promise<void> {
    return this.#replaced(['rollback', 'joiner'])
  }

  async #replaced(command: readonly string[]): Promise<void> {
    const names = async () => (await this.pods()).map(({ metadata }) => metadata.name)
    // Temporal's pod has nothing of what changes.
    const before = (await names()).filter((name) => name !== 'joiner-temporal-0')
    await this.helm(command)
    await until(`helm ${command[0]}: other pods`, 180_000, async () => {
      const stay = (await names()).filter((name) => before.includes(name))
      if (stay.length > 0) throw new Error(`${stay.join(', ')} are still there\n${await this.warnings()}`)
      return true
    })
    await this.ready()
  }

  /** Runs helm in the namespace of the release. Returns what it prints. Errors: what it says. */
  async helm(args: readonly string[]): Promise<string> {
    const { adminKubeconfig, stateDir, binaries } = this.#cluster
    const folder = join(stateDir, 'helm')
    const env = {
      ...process.env,
      KUBECONFIG: adminKubeconfig,
      HELM_CACHE_HOME: folder,
      HELM_DATA_HOME: folder,
      HELM_CONFIG_HOME: folder,
    }
    return (await run(binaries.helm, [...args, '--namespace', namespace], { env })).stdout
  }

  /** Waits until all pods are ready. Errors: which are not, with the events that warn. */
  async ready(): Promise<void> {
    await until('all pods of the release are ready', 180_000, async () => {
      const items = await this.pods()
      const isReady = ({ status }: Pod) =>
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
      const late = items.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata.name)
      if (items.length > 0 && late.length === 0) return true
      throw new Error(`${late.join(', ') || 'none is there'}\n${await this.warnings()}`)
    })
  }

  /** Events of the namespace that warn. */
  async warnings(): Promise<string> {
    const about = 'custom-columns=O:.involvedObject.name,M:.message'
    const only = ['--field-selector', 'type=Warning', '--no-headers', '--output', about]
    return this.#operator.kubectl(['get', 'events', '--namespace', namespace, ...only])
  }

  async figures(): Promise<readonly PodFigures[]> {
    return Promise.all(
      (await this.pods()).map(async ({ metadata: { name, uid }, status }) => ({
        name,
        restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
        memory: await podMemory(uid),
      })),
    )
  }

  /** What is left of the release, by kind and name, besides what Kubernetes itself has in each namespace. */
  async left(): Promise<readonly string[]> {
    const inNamespace = [
      'deploy',
      'sts',
      'job',
      'pod',
      'svc',
      'cm',
      'secret',
      'lease',
      'pvc',
      'sa',
      'role',
      'rolebinding',
      'networkpolicy',
      'pdb',
    ]
    const inCluster = [
      'clusterrole',
      'clusterrolebinding',
      'validatingadmissionpolicy',
      'validatingadmissionpolicybinding',
      'flowschema',
      'prioritylevelconfiguration',
    ]
    const own = await this.#operator.kubectl([
      'get',
      inNamespace.join(','),
      '--namespace',
      namespace,
      '--output',
      'name',
    ])
    const labelled = ['--selector', 'app.kubernetes.io/instance=joiner', '--output', 'name']
    const shared = await this.#operator.kubectl(['get', inCluster.join(','), ...labelled])
    const usual = ['configmap/kube-root-ca.crt', 'serviceaccount/default']
    return [...own.split('\n'), ...shared.split('\n')].filter((line) => line !== '' && !usual.includes(line))
  }

  /** Its pods, also those that end. */
  async pods(): Promise<readonly Pod[]> {
    const path = `/api/v1/namespaces/${namespace}/pods`
    return (await this.#operator.api<{ readonly items: readonly Pod[] }>('GET', path)).items
  }
}

/** As `joiner admin aks values` writes them. */
function valuesFor(cluster: LocalCluster): object {
  const { subscriptionId, location, nodeResourceGroup, clientId, tenantId } = azureIds
  const written = {
    cluster: { name: clusterName },
    workloadIdentity: { clientId, tenantId },
    azure: { subscriptionId, location, nodeResourceGroup, subnetId, sshPublicKey },
  }
  return localValues(written, cluster)
}

/** Values with what is of this machine instead of Azure: the image, the API server and the simulator. */
export function localValues(
  values: { readonly image?: object; readonly cluster: object; readonly azure: object },
  { server, azureEndpoint }: LocalCluster,
): object {
  const environment = {
    name: 'AzurePublicCloud',
    resourceManagerEndpoint: azureEndpoint,
    activeDirectoryEndpoint: azureEndpoint,
    tokenAudience: 'https://management.azure.com',
  }
  return {
    ...values,
    image: { ...values.image, repository: 'localhost/joiner' },
    cluster: { ...values.cluster, endpoint: server },
    azure: { ...values.azure, environment },
    temporal: { bundled: { image: imageNames.temporal } },
    controller: {
      env: [
        // The simulator's certificate is of the authority that pods get for the API server.
        { name: 'NODE_EXTRA_CA_CERTS', value: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' },
        { name: 'JOINER_PRICES_ENDPOINT', value: azureEndpoint },
      ],
    },
  }
}
