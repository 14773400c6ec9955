import type { Scene } from '../scene.ts'

/** For how long a VM that cannot join may be there: its launch finds that out when it looks at the VM. */
const mostMs = 120_000
/** After a restore of etcd tokens are gone that VMs hold; such a VM goes when its registration takes too long. */
const afterRestoreMs = 20 * 60_000

/** VMs that the API server refuses. */
export class Joins {
  readonly #scene: Scene
  readonly #refused = new Map<string, number>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Returns the VMs of NodeClaims that stay though they cannot join. `claims`: names of NodeClaims that are not being deleted. */
  look(claims: ReadonlySet<string>): readonly string[] {
    const { fast, nowMs, etcd } = this.#scene
    const refused = new Set(fast.azure.refused)
    for (const name of this.#refused.keys()) if (!refused.has(name)) this.#refused.delete(name)
    for (const name of refused) if (!this.#refused.has(name)) this.#refused.set(name, nowMs)
    if (nowMs - etcd.restoredMs < afterRestoreMs) return []
    return [...this.#refused].flatMap(([name, sinceMs]) =>
      nowMs - sinceMs >= mostMs && claims.has(name.replace('aks-', '')) ? [name] : [],
    )
  }
}
