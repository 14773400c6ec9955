import { execFile } from 'node:child_process'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseDocument } from 'yaml'
import { azureIds, clusterName, subnetId } from './cluster.ts'
import {
  accounts,
  deployments,
  everyAccount,
  forbiddenToUnited,
  isWithheld,
  localRights,
  namespace,
  operatorAccount,
  unitedAccount,
} from './installation-accounts.ts'
import { kubeconfig } from './kubernetes.ts'
import type { LocalCluster } from './local-cluster.ts'
import { underLoad } from './machine-load.ts'
import type { Operator } from './operator.ts'
import type { ProcessSpec } from './supervisor.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
/** What a person here runs as `joiner`: the bundle that the environment names (`deploy/build-program.ts`), or the sources. */
export const commandLine = process.env['JOINER_PROGRAM'] ?? join(root, 'starter', 'joiner.ts')

/** Nobody logs in to a simulated VM. */
export const sshPublicKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpvaW5lci1sb2NhbC1jbHVzdGVyLWtleS0wMDAwMDAw joiner-local'
const tokenSeconds = 600
/** Tokens are made again long before they end, as the kubelet does for pods. */
const renewMs = 120_000

/** Joiner as it is installed in a local cluster: CRDs, RBAC and policies of its chart, and tokens of its ServiceAccounts, kept fresh. */
export class Installation {
  readonly #cluster: LocalCluster
  readonly #operator: Operator
  /** What processes run: a bundle, as in the image. */
  #program = commandLine
  #timer: NodeJS.Timeout | undefined

  constructor(cluster: LocalCluster, operator: Operator) {
    this.#cluster = cluster
    this.#operator = operator
  }

  /** Applies what the chart holds besides the Deployments, which are processes here, and an account with all their rights. */
  async install(): Promise<void> {
    if (process.env['JOINER_PROGRAM'] === undefined) {
      await run(process.execPath, [join(root, 'deploy', 'build-program.ts')])
      this.#program = join(root, 'dist', 'joiner.js')
    }
    await this.applyCrds()
    await this.#operator.kubectl(
      ['apply', '--server-side', '-f', '-'],
      `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${namespace} }\n`,
    )
    await this.applyRights()
    await this.#operator.kubectl(['apply', '--server-side', '-f', '-'], localRights())
    await this.#writeTokens()
    const { server, pki } = this.#cluster
    for (const account of everyAccount) {
      const user = { tokenFile: this.#tokenFile(account) }
      await writeFile(this.kubeconfigOf(account), kubeconfig({ server, caFile: pki.caFile, user }))
    }
    this.stop()
    this.#timer = setInterval(() => {
      this.#writeTokens().catch((error: unknown) =>
        console.error(`the tokens of the ServiceAccounts could not be renewed: ${String(error)}`),
      )
    }, renewMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Applies accounts, rights and policies of the chart with more values, such as `settings.schedulerConfig`: some rights depend on settings. */
  async applyRights(values: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.#operator.kubectl(['apply', '--server-side', '-f', '-'], await this.#rights(values))
  }

  /** Kubeconfig with the rights of all of Joiner's roles together. */
  get kubeconfig(): string {
    return this.kubeconfigOf(unitedAccount)
  }

  /** Kubeconfig with the rights of a person who uses the command line. */
  get operatorKubeconfig(): string {
    return this.kubeconfigOf(operatorAccount)
  }

  /** Kubeconfig with the rights of one ServiceAccount. */
  kubeconfigOf(account: (typeof everyAccount)[number]): string {
    return join(this.#cluster.stateDir, account === unitedAccount ? 'joiner.kubeconfig' : `${account}-alone.kubeconfig`)
  }

  /** A Joiner process with all roles and their rights. Names tell replicas apart. */
  processSpec(name = 'joiner', overrides: Readonly<Record<string, string>> = {}): ProcessSpec {
    return {
      name,
      command: process.execPath,
      // As in the image (deploy/Dockerfile).
      args: ['--min-semi-space-size=4', '--max-semi-space-size=16', this.#program, 'worker'],
      cwd: root,
      env: { MALLOC_ARENA_MAX: '2', ...this.#environment(name), ...overrides },
    }
  }

  /** One of Joiner's commands with its arguments, such as `doctor`, with a process's settings. */
  commandSpec(args: readonly string[], overrides: Readonly<Record<string, string>> = {}): ProcessSpec {
    return { ...this.processSpec(args[0], overrides), args: [this.#program, ...args] }
  }

  /** A process for each Deployment of the chart, with its roles, its account's rights alone, and no credentials that the chart does not give it. */
  apartSpecs(overrides: Readonly<Record<string, string>> = {}): readonly ProcessSpec[] {
    return accounts.map((account) => {
      const environment = { ...this.#environment(account), ...overrides, KUBECONFIG: this.kubeconfigOf(account) }
      const own = Object.entries({ ...environment, JOINER_ROLES: deployments[account] }).filter(
        ([name]) => !isWithheld(name, account),
      )
      return { ...this.processSpec(account), env: Object.fromEntries(own) }
    })
  }

  #environment(name: string): Record<string, string> {
    const { server, pki, ports, temporalEnv, azureEndpoint } = this.#cluster
    return {
      KUBECONFIG: this.kubeconfig,
      JOINER_NAMESPACE: namespace,
      JOINER_IDENTITY: name,
      JOINER_POD_IP: '127.0.0.1',
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
      // Suites count what nodes cost in requests; those of the extension switch it on.
      JOINER_BILLING_EXTENSION: 'false',
      AZURE_TENANT_ID: azureIds.tenantId,
      AZURE_CLIENT_ID: azureIds.clientId,
      AZURE_FEDERATED_TOKEN_FILE: this.#federatedFile,
      AZURE_AUTHORITY_HOST: azureEndpoint,
      NODE_EXTRA_CA_CERTS: pki.caFile,
    }
  }

  #tokenFile(account: (typeof everyAccount)[number]): string {
    return join(this.#cluster.stateDir, account === unitedAccount ? 'joiner.token' : `${account}-alone.token`)
  }

  get #federatedFile(): string {
    return join(this.#cluster.stateDir, 'joiner.federated-token')
  }

  /** Applies the chart's CRDs, and waits until they are served. */
  async applyCrds(): Promise<void> {
    // A Joiner that ran before has written into them.
    await this.#operator.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], await this.#crds())
    const timeout = `--timeout=${Math.ceil(underLoad(30_000) / 1000)}s`
    await this.#operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', timeout])
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

  async #rights(more: Readonly<Record<string, unknown>>): Promise<string> {
    const values = {
      // No container runs it here.
      'image.repository': 'joiner',
      'cluster.name': clusterName,
      'cluster.endpoint': this.#cluster.server,
      'azure.subscriptionId': azureIds.subscriptionId,
      'azure.location': azureIds.location,
      'azure.nodeResourceGroup': azureIds.nodeResourceGroup,
      'azure.subnetId': subnetId,
      'azure.sshPublicKey': sshPublicKey,
      ...more,
    }
    const sets = Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`])
    const templates = [
      'accounts',
      'rights',
      'privilege-policies',
      'node-identity-policy',
      'admission-policy',
      'conversion',
    ]
    const shown = templates.flatMap((name) => ['--show-only', `templates/${name}.yaml`])
    const { stdout } = await run(this.#cluster.binaries.helm, [
      'template',
      'joiner',
      join(root, 'deploy', 'chart'),
      '--namespace',
      namespace,
      ...sets,
      ...shown,
    ])
    return forbiddenToUnited(stdout)
  }

  async #writeTokens(): Promise<void> {
    await Promise.all([
      ...everyAccount.map((account) => this.#writeToken(account, this.#tokenFile(account))),
      this.#writeToken('joiner-azure', this.#federatedFile, 'api://AzureADTokenExchange'),
    ])
  }

  async #writeToken(account: string, path: string, audience?: string): Promise<void> {
    const answer = await this.#operator.api<{ status: { token: string } }>(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
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
