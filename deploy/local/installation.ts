import { execFile } from 'node:child_process'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseDocument } from 'yaml'
import { azureIds, clusterName, kubeconfig, type LocalCluster, subnetId } from './cluster.ts'
import type { Operator } from './operator.ts'
import type { ProcessSpec } from './supervisor.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

const namespace = 'joiner'
const serviceAccount = 'joiner'
/** Nobody logs in to a simulated VM. */
const sshPublicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpvaW5lci1sb2NhbC1jbHVzdGVyLWtleS0wMDAwMDAw joiner-local'
const tokenSeconds = 600
/** Tokens are made anew long before they end, as the kubelet does for pods. */
const renewMs = 120_000

/** Joiner as it is installed in a local cluster: CRDs and RBAC of its chart, and the ServiceAccount's tokens, kept fresh. */
export class Installation {
  readonly #cluster: LocalCluster
  readonly #operator: Operator
  #timer: NodeJS.Timeout | undefined

  constructor(cluster: LocalCluster, operator: Operator) {
    this.#cluster = cluster
    this.#operator = operator
  }

  /** Applies exactly what the chart holds besides the Deployments, which are processes here. */
  async install(): Promise<void> {
    await this.#operator.kubectl(['apply', '--server-side', '-f', '-'], await this.#crds())
    await this.#operator.kubectl(
      ['apply', '--server-side', '-f', '-'],
      `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${namespace} }\n`,
    )
    await this.#operator.kubectl(['apply', '--server-side', '-f', '-'], await this.#rights())
    await this.#operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
    await this.#writeTokens()
    const { server, pki } = this.#cluster
    await writeFile(this.kubeconfig, kubeconfig({ server, caFile: pki.caFile, user: { tokenFile: this.#tokenFile } }))
    this.#timer = setInterval(() => {
      this.#writeTokens().catch((error: unknown) =>
        console.error(`the ServiceAccount token could not be renewed: ${String(error)}`),
      )
    }, renewMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Kubeconfig with the rights of Joiner's ServiceAccount. */
  get kubeconfig(): string {
    return join(this.#cluster.stateDir, 'joiner.kubeconfig')
  }

  /** A Joiner process as the chart would run it. Names tell replicas apart. */
  processSpec(name = 'joiner', overrides: Readonly<Record<string, string>> = {}): ProcessSpec {
    return {
      name,
      command: process.execPath,
      args: [join(root, 'starter', 'joiner.ts'), 'worker'],
      cwd: root,
      env: { ...this.#environment(name), ...overrides },
    }
  }

  #environment(name: string): Record<string, string> {
    const { server, pki, ports, temporalEnv, azureEndpoint } = this.#cluster
    return {
      KUBECONFIG: this.kubeconfig,
      JOINER_NAMESPACE: namespace,
      JOINER_IDENTITY: name,
      JOINER_HEALTH_PORT: '0',
      JOINER_CONVERSION_PORT: String(ports.conversion),
      JOINER_ARM_ENDPOINT: azureEndpoint,
      JOINER_PRICES_ENDPOINT: azureEndpoint,
      ...temporalEnv,
      CLUSTER_NAME: clusterName,
      CLUSTER_ENDPOINT: server,
      KUBELET_BOOTSTRAP_CA_FILE: pki.caFile,
      ARM_SUBSCRIPTION_ID: azureIds.subscriptionId,
      LOCATION: azureIds.location,
      AZURE_NODE_RESOURCE_GROUP: azureIds.nodeResourceGroup,
      VNET_SUBNET_ID: subnetId,
      SSH_PUBLIC_KEY: sshPublicKey,
      AZURE_TENANT_ID: azureIds.tenantId,
      AZURE_CLIENT_ID: azureIds.clientId,
      AZURE_FEDERATED_TOKEN_FILE: this.#federatedFile,
      AZURE_AUTHORITY_HOST: azureEndpoint,
      NODE_EXTRA_CA_CERTS: pki.caFile,
    }
  }

  get #tokenFile(): string {
    return join(this.#cluster.stateDir, 'joiner.token')
  }

  get #federatedFile(): string {
    return join(this.#cluster.stateDir, 'joiner.federated-token')
  }

  /** The CRDs, but that old versions are converted at a URL: nothing routes to Services here. */
  async #crds(): Promise<string> {
    const folder = join(root, 'deploy', 'crds')
    const url = `https://localhost:${this.#cluster.ports.conversion}/convert`
    const crds = (await readdir(folder)).map(async (name) => {
      const crd = parseDocument(await readFile(join(folder, name), 'utf8'))
      const config = ['spec', 'conversion', 'webhook', 'clientConfig']
      if (crd.hasIn(config)) crd.setIn(config, { url })
      return String(crd)
    })
    return (await Promise.all(crds)).join('---\n')
  }

  async #rights(): Promise<string> {
    const values = {
      'cluster.name': clusterName,
      'cluster.endpoint': this.#cluster.server,
      'azure.subscriptionId': azureIds.subscriptionId,
      'azure.location': azureIds.location,
      'azure.nodeResourceGroup': azureIds.nodeResourceGroup,
      'azure.subnetId': subnetId,
      'azure.sshPublicKey': sshPublicKey,
    }
    const sets = Object.entries(values).flatMap(([key, value]) => ['--set-string', `${key}=${value}`])
    const shown = ['serviceaccount', 'rbac', 'admission-policy'].flatMap((name) => [
      '--show-only',
      `templates/${name}.yaml`,
    ])
    return (
      await run(this.#cluster.binaries.helm, [
        'template',
        'joiner',
        join(root, 'deploy', 'chart'),
        '--namespace',
        namespace,
        ...sets,
        ...shown,
      ])
    ).stdout
  }

  async #writeTokens(): Promise<void> {
    await Promise.all([
      this.#writeToken(this.#tokenFile),
      this.#writeToken(this.#federatedFile, 'api://AzureADTokenExchange'),
    ])
  }

  async #writeToken(path: string, audience?: string): Promise<void> {
    const answer = await this.#operator.api<{ status: { token: string } }>(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: tokenSeconds, ...(audience === undefined ? {} : { audiences: [audience] }) },
      },
    )
    // Readers never see half a token.
    await writeFile(`${path}.tmp`, answer.status.token, { mode: 0o600 })
    await rename(`${path}.tmp`, path)
  }
}
