import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { azureIds, startCluster } from '../../deploy/local/cluster.ts'
import { kubeconfig } from '../../deploy/local/kubernetes.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'
import { builtBinaries, karpenterFiles, karpenterVersion } from '../../test/upstream-e2e/binaries.ts'
import { type Contender, pool } from './contender.ts'
import { instanceTypes } from './instance-types.ts'

const run = promisify(execFile)

/** Where its chart is installed, and its account. */
const namespace = 'kube-system'
const account = 'karpenter'
/** What of its chart a process needs beside the CRDs. */
const rights = ['serviceaccount', 'clusterrole', 'clusterrole-kwok', 'role', 'rolebinding']
/** What it has a use for; the other servers would only take its time. */
const needed = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok']
const tokenSeconds = 24 * 3600
const nodeClassRef = { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' }

/**
 * Karpenter with its own kwok cloud, which answers a launch by making the Node. CRDs and rights are those of its module; its settings are its own
 * defaults, and its sizes, zones and prices those of the simulator, so that the NodePool means the same.
 */
export class Karpenter implements Contender {
  readonly title = `Karpenter ${karpenterVersion()}, kwok cloud`
  readonly controller = 'karpenter'
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly #binary: string

  private constructor(cluster: LocalCluster, binary: string) {
    this.cluster = cluster
    this.operator = new Operator(cluster)
    this.#binary = binary
  }

  static async start(): Promise<Karpenter> {
    const progress = (line: string) => console.error(line)
    const { karpenter } = await builtBinaries(['karpenter'], progress)
    const stateDir = await mkdtemp(join(tmpdir(), 'joiner-peer-'))
    const contender = new Karpenter(await startCluster({ stateDir, progress }), karpenter)
    try {
      await contender.#install()
    } catch (error) {
      await contender.stop()
      throw error
    }
    return contender
  }

  async begin(): Promise<void> {
    const { supervisor, stateDir } = this.cluster
    const types = join(stateDir, 'instance-types.json')
    await writeFile(types, JSON.stringify(instanceTypes(azureIds.location)))
    supervisor.start({
      name: this.controller,
      command: this.#binary,
      args: [],
      env: {
        KUBECONFIG: await this.#kubeconfig(),
        SYSTEM_NAMESPACE: namespace,
        INSTANCE_TYPES_FILE_PATH: types,
        DISABLE_LEADER_ELECTION: 'true',
        // Any that is free.
        METRICS_PORT: '0',
        HEALTH_PROBE_PORT: '0',
      },
    })
    const { template } = pool.spec
    const spec = { ...pool.spec, template: { spec: { ...template.spec, nodeClassRef } } }
    await this.#apply(
      { apiVersion: 'karpenter.kwok.sh/v1alpha1', kind: nodeClassRef.kind, metadata: { name: nodeClassRef.name } },
      { ...pool, spec },
    )
    const ready = ['wait', '--for=condition=Ready', `nodepool/${pool.metadata.name}`, '--timeout=60s']
    await this.operator.kubectl(ready)
  }

  told(): Promise<Record<string, never>> {
    return Promise.resolve({})
  }

  checkLeft(): Promise<void> {
    return Promise.resolve()
  }

  async stop(): Promise<void> {
    await this.operator.close()
    await this.cluster.stop()
    await rm(this.cluster.stateDir, { recursive: true, force: true })
  }

  async #install(): Promise<void> {
    const { supervisor, binaries } = this.cluster
    for (const name of Object.keys(supervisor.pids)) if (!needed.includes(name)) await supervisor.stop(name)
    const folder = await karpenterFiles()
    const chart = join(folder, 'kwok', 'charts')
    const crds = [join(chart, 'crds'), join(folder, 'kwok', 'apis', 'crds')]
    await this.operator.kubectl(['apply', '--server-side', ...crds.flatMap((path) => ['-f', path])])
    await this.operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
    const shown = rights.flatMap((name) => ['--show-only', `templates/${name}.yaml`])
    const { stdout } = await run(binaries.helm, ['template', account, chart, '--namespace', namespace, ...shown])
    await this.operator.kubectl(['apply', '--server-side', '-f', '-'], stdout)
  }

  /** As its ServiceAccount: the API server serves administrators before all others. */
  async #kubeconfig(): Promise<string> {
    const { status } = await this.operator.api<{ status: { token: string } }>(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: tokenSeconds },
      },
    )
    const { server, pki, stateDir } = this.cluster
    const path = join(stateDir, 'karpenter.kubeconfig')
    const user = { token: status.token }
    await writeFile(path, kubeconfig({ server, caFile: pki.caFile, user }), { mode: 0o600 })
    return path
  }

  async #apply(...objects: readonly unknown[]): Promise<void> {
    const text = objects.map((object) => stringify(object)).join('---\n')
    await this.operator.kubectl(['apply', '--server-side', '-f', '-'], text)
  }
}
