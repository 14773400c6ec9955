import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import type { FaultyWorld } from '../faulty-world.ts'
import type { Seen } from '../world.ts'
import type { Room, Stage } from './rows.ts'
import type { Surroundings } from './surroundings.ts'

let lifecycles = 0

/** A place for one node at a time, with a NodePool, a node class and a workload of its own, new in each lifecycle. */
export class Slot {
  readonly #faulty: FaultyWorld
  state: keyof Room = 'gone'
  /** When it came to that state. */
  sinceMs = 0
  pool = ''
  #revision = 1
  #oldUid: string | undefined
  #stage: Stage | undefined

  constructor(faulty: FaultyWorld) {
    this.#faulty = faulty
  }

  /** What the pool will be called in the next stage. */
  prepare(stage: Stage): string {
    if (stage === 'launch') {
      lifecycles += 1
      this.pool = `m${String(lifecycles).padStart(3, '0')}`
    }
    this.#stage = stage
    return this.pool
  }

  /** Does what an operator does to have the stage that was prepared. */
  async begin(): Promise<void> {
    const { world } = this.#faulty
    const { pool } = this
    switch (this.#stage) {
      case 'launch':
        this.#oldUid = undefined
        await world.apply(
          nodeClass(pool),
          nodePool({ name: pool, nodeClass: pool, consolidateAfter: 'Never' }),
          deployment({ name: pool, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': pool } }),
        )
        break
      case 'replace':
        this.#oldUid = (await this.#faulty.look()).old(pool).uid
        this.#revision += 1
        await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${pool}`, {
          spec: { template: { metadata: { labels: { revision: String(this.#revision) } } } },
        })
        break
      case 'terminate':
        await world.operator.kubectl(['delete', '--wait=false', `deployment/${pool}`])
        // That its pods end is an event of a node that is not yet going itself.
        await world.until(`pods of ${pool} end`, () => this.#havePodsBegunToEnd())
        await world.operator.kubectl(['delete', '--wait=false', `nodepool/${pool}`, `aksnodeclass/${pool}`])
    }
  }

  async #havePodsBegunToEnd(): Promise<boolean> {
    const { items } = await this.#faulty.world.operator.api<{ readonly items: readonly Seen[] }>(
      'GET',
      `/api/v1/namespaces/default/pods?labelSelector=app%3D${this.pool}`,
    )
    return items.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
  }

  /** What is not yet as it should be when the stage is over; undefined: nothing. */
  missing(seen: Surroundings): string | undefined {
    const had = seen.counts(this.pool)
    if (this.#stage === 'terminate') {
      const rest = Object.entries(had).filter(([, count]) => count > 0)
      return rest.length === 0 ? undefined : `left: ${rest.map(([kind, count]) => `${count} ${kind}`).join(', ')}`
    }
    const state = seen.picture.state(this.pool, 1)
    if (state !== 'whole') return state
    if (seen.picture.old(this.pool).uid === this.#oldUid) return 'the old node is there'
    const wrong = Object.entries(wanted).filter(([kind, count]) => had[kind as keyof typeof wanted] !== count)
    if (wrong.length > 0) return wrong.map(([kind]) => `${had[kind as keyof typeof wanted]} ${kind}`).join(', ')
    return had.tokens > 1 ? `${had.tokens} tokens` : undefined
  }

  /** The stage has ended as it should. */
  finish(): void {
    this.state = this.#stage === 'terminate' ? 'gone' : 'whole'
    this.sinceMs = Date.now()
  }

  /** The pool stays as it is, for whoever looks; the slot goes on with another. */
  abandon(): void {
    this.state = 'gone'
  }

  /** How many VMs may be there at once for this stage. */
  get vmsAtOnce(): number {
    return this.#stage === 'launch' ? 1 : 2
  }
}

const wanted = { nics: 1, disks: 1, lifecycles: 1, commands: 0 } as const
