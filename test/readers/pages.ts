import { buildUi } from '../../deploy/build-ui.ts'
import { namespace } from '../../deploy/local/installation-accounts.ts'
import { ofShape, renderChart, role, smallestValues } from '../chart.ts'
import { UiProcess } from '../ui-client.ts'
import type { World } from '../world.ts'
import type { Environment } from './command-line.ts'
import type { Prepared } from './prepared.ts'

export const proxyHost = 'joiner.example.com'

/** Processes of `joiner ui`, each for another user. */
export class Pages {
  readonly #all: readonly UiProcess[]
  /** Of somebody who may do all that the page offers, logged in. */
  readonly own: UiProcess
  /** With --read-only, not logged in. */
  readonly readOnly: UiProcess
  /** Of `node-viewer`, who may read Nodes alone, logged in. */
  readonly limited: UiProcess
  /** Without Temporal, logged in. */
  readonly alone: UiProcess
  /** With the account of the chart, behind a proxy. */
  readonly shared: UiProcess

  private constructor(all: readonly UiProcess[]) {
    this.#all = all
    ;[this.own, this.readOnly, this.limited, this.alone, this.shared] = all as [
      UiProcess,
      UiProcess,
      UiProcess,
      UiProcess,
      UiProcess,
    ]
  }

  static async open(prepared: Prepared): Promise<Pages> {
    await buildUi()
    const { world, operator, admin } = prepared
    await prepared.let('node-viewer', [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }])
    await letSharedPage(world)
    const temporal = world.cluster.temporalEnv
    const start = (env: Environment, ...args: readonly string[]) => UiProcess.start(env, ...args)
    const all = await allOrNone([
      start(operator),
      start(operator, '--read-only'),
      start({ ...admin, ...temporal }, '--as', 'node-viewer'),
      start({ ...operator, TEMPORAL_ADDRESS: '127.0.0.1:1' }),
      start({ ...admin, ...temporal }, '--behind-proxy', proxyHost, '--as', 'shared-ui'),
    ])
    const pages = new Pages(all)
    await Promise.all([pages.own, pages.limited, pages.alone].map((page) => page.logIn()))
    return pages
  }

  async end(): Promise<void> {
    await Promise.all(this.#all.map((page) => page.stop()))
  }
}

/** Of processes of which one does not start none is left. */
async function allOrNone(starting: readonly Promise<UiProcess>[]): Promise<readonly UiProcess[]> {
  try {
    return await Promise.all(starting)
  } catch (error) {
    for (const one of await Promise.allSettled(starting)) if (one.status === 'fulfilled') await one.value.stop()
    throw error
  }
}

/** A user with the rights of the chart's account. */
async function letSharedPage(world: World): Promise<void> {
  const manifests = await renderChart({
    ...smallestValues,
    ui: { enabled: true, host: proxyHost, allowedNamespaces: ['ingress'] },
  })
  const group = 'rbac.authorization.k8s.io'
  const roles = ofShape(manifests, ['Role', 'ClusterRole'], role).filter(
    ({ metadata }) => metadata.name === 'joiner-ui',
  )
  const named = (kind: string) => ({ name: 'shared-ui', ...(kind === 'Role' ? { namespace } : {}) })
  await world.apply(
    ...roles.map(({ apiVersion, kind, rules }) => ({ apiVersion, kind, metadata: named(kind), rules })),
    ...roles.map(({ apiVersion, kind }) => ({
      apiVersion,
      kind: `${kind}Binding`,
      metadata: named(kind),
      roleRef: { apiGroup: group, kind, name: 'shared-ui' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'shared-ui' }],
    })),
  )
}
