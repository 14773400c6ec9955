// The one cluster that all commands and pages are read against: two nodes with a pod each, and three nodes that came and went before.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { deployment, nodeClass, nodePool, standaloneClaim } from '../applied-objects.ts'
import { claimsPath, isTrue, type Seen, World } from '../world.ts'
import { type Environment, type Ran, runHere } from './command-line.ts'

/** Nodes of sizes whose quota is one, which stay until a test lets them go. */
export const pool = (consolidateAfter = 'Never') =>
  nodePool({
    consolidateAfter,
    requirements: [
      { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5', 'Standard_D4s_v5'] },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    ],
  })

/** Servers, Joiner, and what a person does there. */
export class Prepared {
  readonly world: World
  /** For files of tests. */
  readonly folder: string
  readonly #trusted: readonly string[]

  private constructor(world: World, folder: string, ca: string) {
    this.world = world
    this.folder = folder
    // Commands run in this process, which began before the simulator had its certificate.
    this.#trusted = getCACertificates('default')
    setDefaultCACertificates([...this.#trusted, ca])
  }

  /** Starts everything but Joiner itself. */
  static async begin(): Promise<Prepared> {
    // CRDs are deleted at the end, so no other suite gets this cluster.
    const world = await World.start({ cloud: 'boot', audit: true })
    const folder = await mkdtemp(join(tmpdir(), 'joiner-readers-'))
    return new Prepared(world, folder, await readFile(world.cluster.pki.caFile, 'utf8'))
  }

  /** Starts Joiner, and lets nodes come and go. */
  async fill(): Promise<void> {
    await this.world.startWithPool(pool(), nodeClass(), deployment({ apart: true, replicas: 2 }))
    await this.#pastLives()
    await this.world.untilRunning(2)
    await this.untilInitialized(2)
  }

  /** Waits until there are so many nodes, all of them ready for pods. */
  async untilInitialized(count: number): Promise<void> {
    await this.world.until(`${count} nodes are initialized`, async () => {
      const claims = await this.claims()
      return claims.length === count && claims.every((claim) => isTrue(claim, 'Initialized'))
    })
  }

  /** One expires, one is too big for any size, one is deleted by a person. */
  async #pastLives(): Promise<void> {
    const { world } = this
    await Promise.all([
      world.operator.api('POST', claimsPath, standaloneClaim('aged', { expireAfter: '10s' })),
      world.operator.api('POST', claimsPath, standaloneClaim('too-big', { resources: { requests: { cpu: '9000' } } })),
      world.operator.api('POST', claimsPath, standaloneClaim('unwanted')),
    ])
    const named = async (name: string) => (await this.claims()).find(({ metadata }) => metadata.name === name)
    await world.until('a claim is ready', async () => {
      const claim = await named('unwanted')
      return claim !== undefined && isTrue(claim, 'Initialized')
    })
    await world.operator.kubectl(['delete', 'nodeclaim', 'unwanted'])
    await world.until('the others are gone', async () => !(await named('aged')) && !(await named('too-big')))
  }

  /** A user, and all that it may do. */
  async let(user: string, rules: readonly object[]): Promise<void> {
    const group = 'rbac.authorization.k8s.io'
    const metadata = { name: user }
    await this.world.apply(
      { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata, rules },
      {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata,
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: user },
        subjects: [{ kind: 'User', name: user, apiGroup: group }],
      },
    )
  }

  async end(): Promise<void> {
    await this.world.stop({ tookRights: true })
    setDefaultCACertificates([...this.#trusted])
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Environment of a person with the rights that the chart has for people who use the commands. */
  get operator(): Environment {
    return { KUBECONFIG: this.world.installation.operatorKubeconfig, ...this.world.cluster.temporalEnv }
  }

  get admin(): Environment {
    return { KUBECONFIG: this.world.cluster.adminKubeconfig }
  }

  /** As that person. */
  ask(...args: readonly string[]): Promise<Ran> {
    return runHere(this.operator, ...args)
  }

  /** What a command prints for programs. Errors: it failed. */
  async json<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.text(...args, '-o', 'json')) as T
  }

  /** What a command prints. Errors: it failed. */
  async text(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.ask(...args)
    if (code !== 0) throw new Error(`joiner ${args.join(' ')}: ${code}\n${stdout}\n${stderr}`)
    return stdout
  }

  /** NodeClaims by name. */
  async claims(): Promise<readonly Seen[]> {
    return (await this.world.list('nodeclaims')).toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name))
  }
}
