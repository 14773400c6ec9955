// Somebody who may look at a cluster and at its subscription, and change neither.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Advice } from '../../starter/cli/advise/advice.ts'
import { StandInAz } from '../arm/stand-in-az.ts'
import { type Ran, runProcess } from '../readers/command-line.ts'
import type { World } from '../world.ts'

const rbac = 'rbac.authorization.k8s.io'

/** What `joiner advise` reads (docs/advise.md). */
const readRules = [
  {
    apiGroups: [''],
    resources: ['pods', 'nodes', 'namespaces', 'persistentvolumeclaims', 'persistentvolumes'],
    verbs: ['list'],
  },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-autoscaler-status'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['daemonsets', 'deployments'], verbs: ['list'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses', 'csinodes'], verbs: ['list'] },
  { apiGroups: ['karpenter.sh'], resources: ['nodepools', 'nodeclaims', 'nodeoverlays'], verbs: ['list'] },
  { apiGroups: ['karpenter.azure.com'], resources: ['aksnodeclasses'], verbs: ['list'] },
]

/** Runs `joiner advise` as somebody with a kubeconfig and a login at Azure. */
export class Onlooker {
  readonly #world: World
  readonly #az: StandInAz
  readonly folder: string
  /** User name at the API server. */
  readonly user: string

  private constructor(world: World, az: StandInAz, folder: string, user: string) {
    this.#world = world
    this.#az = az
    this.folder = folder
    this.user = user
  }

  /** Makes an account with these rights. */
  static async arrive(world: World, name: string, rules: readonly object[] = readRules): Promise<Onlooker> {
    const account = { kind: 'ServiceAccount', name, namespace: 'default' }
    await world.apply(
      { apiVersion: 'v1', kind: account.kind, metadata: { name, namespace: 'default' } },
      { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
        subjects: [account],
      },
    )
    const { status } = await world.operator.api<{ readonly status: { readonly token: string } }>(
      'POST',
      `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
    )
    const folder = await mkdtemp(join(tmpdir(), 'joiner-advise-'))
    const az = await StandInAz.install()
    await az.logIn(
      await world.operator.simulator('POST', '/people', { name: `${name}@example.com`, roles: ['Reader'] }),
    )
    const { server, pki } = world.cluster
    await writeFile(
      join(folder, 'kubeconfig'),
      stringify({
        clusters: [{ name: 'local', cluster: { server, 'certificate-authority': pki.caFile } }],
        users: [{ name, user: { token: status.token } }],
        contexts: [{ name: 'local', context: { cluster: 'local', user: name } }],
        'current-context': 'local',
      }),
    )
    return new Onlooker(world, az, folder, `system:serviceaccount:default:${name}`)
  }

  /** The login at Azure ends. */
  logOut(): Promise<void> {
    return this.#az.expire()
  }

  run(...args: readonly string[]): Promise<Ran> {
    const { pki, azureEndpoint } = this.#world.cluster
    const env = {
      PATH: `${this.#az.folder}:/usr/bin:/bin`,
      KUBECONFIG: join(this.folder, 'kubeconfig'),
      NODE_EXTRA_CA_CERTS: pki.caFile,
      JOINER_ARM_ENDPOINT: azureEndpoint,
      JOINER_PRICES_ENDPOINT: azureEndpoint,
    }
    return runProcess(env, 'advise', ...args)
  }

  /** The report as programs read it. Errors: the command failed. */
  async advice(...args: readonly string[]): Promise<Advice> {
    const { code, stdout, stderr } = await this.run('-o', 'json', ...args)
    if (code !== 0) throw new Error(`joiner advise ended with ${code}: ${stderr}`)
    return JSON.parse(stdout) as Advice
  }

  async leave(): Promise<void> {
    await this.#az.remove()
    await rm(this.folder, { recursive: true, force: true })
  }
}
