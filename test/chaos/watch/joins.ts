import type { Scene } from '../scene.ts'

/** For how long a VM that cannot join may be there: its launch finds that out when it looks at the VM. */
const mostMs = 120_000
/** After a restore of etcd tokens are gone that VMs hold; such a VM goes when its registration takes too long. */
const afterRestoreMs = 20 * 60_000

/** VMs that the API server refuses. */
export class Joins {
  readonly #scene: Scene
  /** For how long each has been there while Joiner could do something about it. */
  readonly #refused = new Map<string, number>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /**
   * Returns the VMs of NodeClaims that stay though they cannot join. `claims`: names of NodeClaims that are not being deleted. `actedMs`: the time since
   * the last look in which Joiner could act.
   */
  look(claims: ReadonlySet<string>, actedMs: number): readonly string[] {
    const { fast, nowMs, etcd } = this.#scene
    const refused = new Set(fast.azure.refused)
    for (const name of this.#refused.keys()) if (!refused.has(name)) this.#refused.delete(name)
    for (const name of refused) this.#refused.set(name, (this.#refused.get(name) ?? -actedMs) + actedMs)
    if (nowMs - etcd.restoredMs < afterRestoreMs) return []
    return [...this.#refused].flatMap(([name, ms]) =>
      ms >= mostMs && claims.has(name.replace('aks-', '')) ? [name] : [],
    )
  }
}
