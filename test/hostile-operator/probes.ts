import type { World } from '../world.ts'

const everyMs = 5_000
const lookMs = 1_000
const label = 'example.com/probe'
const podsPath = '/api/v1/namespaces/default/pods'
const claimsPath = '/apis/karpenter.sh/v1/nodeclaims'

/** The NodePool of the pods that come one by one. Each of its nodes is for one of them, and names it. */
export const probesPool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'probes' },
  spec: {
    template: {
      spec: {
        requirements: [
          { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
          { key: label, operator: 'Exists' },
        ],
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        expireAfter: 'Never',
      },
    },
    disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '1s', budgets: [{ nodes: '100%' }] },
  },
}

interface Probe {
  readonly name: string
  readonly madeMs: number
  nodeClaim?: string | undefined
  isLeaving?: boolean
}

interface Objects {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly requirements?: readonly { readonly key: string; readonly values?: readonly string[] }[] }
    readonly status?: { readonly phase?: string }
  }[]
}

const probeOf = (requirements: Objects['items'][number]['spec']['requirements']) =>
  requirements?.find(({ key }) => key === label)?.values?.[0]

/** A pod every 5 s that needs a node of its own; once it runs, the pod goes (its node is empty, and consolidated) or, every other time, its NodeClaim. */
export class Probes {
  readonly #world: World
  readonly #all: Probe[] = []
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(world: World) {
    this.#world = world
  }

  start(): void {
    this.#running = Promise.all([this.#every(everyMs, () => this.#make()), this.#every(lookMs, () => this.#look())])
    // Who stops them hears of it.
    this.#running.catch(() => {})
  }

  /** Makes no more of them, whatever becomes of those that there are. */
  abandon(): void {
    this.#isOver = true
  }

  /** Makes no more of them, and waits until all have run. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
    await this.#world.until('the last pods have run', async () => {
      await this.#look()
      return this.#all.every(({ isLeaving }) => isLeaving)
    })
  }

  /** How many pods were made in that time, and how long each waited until its VM was asked for, in ms; undefined: it was not. */
  async waits(fromMs: number, toMs: number): Promise<readonly (number | undefined)[]> {
    const puts = new Map(
      (await this.#world.journal()).filter(({ method }) => method === 'PUT').map(({ name, atMs }) => [name, atMs]),
    )
    return this.#all
      .filter(({ madeMs }) => madeMs >= fromMs && madeMs < toMs)
      .map(({ nodeClaim, madeMs }) => {
        const putMs = nodeClaim === undefined ? undefined : puts.get(`aks-${nodeClaim}`)
        return putMs === undefined ? undefined : putMs - madeMs
      })
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    for (let nextMs = Date.now(); !this.#isOver; nextMs += ms) {
      await work()
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextMs + ms - Date.now())))
    }
  }

  async #make(): Promise<void> {
    const name = `probe-${this.#all.length + 1}`
    this.#all.push({ name, madeMs: Date.now() })
    await this.#world.operator.api('POST', podsPath, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        nodeSelector: { [label]: name },
        terminationGracePeriodSeconds: 0,
        // A Node of the simulator is Ready before it is registered. Kubernetes deletes a pod whose binding it sees before it sees that this taint is gone.
        tolerations: [{ key: 'karpenter.sh/unregistered', operator: 'Exists', effect: 'NoExecute' }],
        containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1' } } }],
      },
    })
  }

  async #look(): Promise<void> {
    const { operator } = this.#world
    const claims = await operator.api<Objects>('GET', claimsPath)
    const pods = await operator.api<Objects>('GET', podsPath)
    const phases = new Map(pods.items.map(({ metadata, status }) => [metadata.name, status?.phase]))
    const byProbe = new Map(claims.items.map(({ metadata, spec }) => [probeOf(spec.requirements), metadata.name]))
    for (const [at, probe] of this.#all.entries()) {
      probe.nodeClaim ??= byProbe.get(probe.name)
      if (probe.isLeaving || phases.get(probe.name) !== 'Running' || probe.nodeClaim === undefined) continue
      probe.isLeaving = true
      await operator.api('DELETE', at % 2 === 0 ? `${podsPath}/${probe.name}` : `${claimsPath}/${probe.nodeClaim}`)
    }
  }
}
