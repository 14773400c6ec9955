import type { Scene } from '../scene.ts'
import { GapAccounts } from './gap-accounts.ts'
import { LifeAccounts } from './life-accounts.ts'
import { NodeAccounts } from './node-accounts.ts'
import { PodAccounts, settledMs } from './pod-accounts.ts'
import { StatusAccounts } from './status-accounts.ts'
import type { Wrong } from './wrong.ts'

const everyMs = 60_000

/** Holds what Joiner's commands say at a time against the objects that there are then. */
export class Accounts {
  readonly #scene: Scene
  #lookedMs = 0
  /** Since when there has been nothing wrong that an account may not have caught up with. */
  #calmSinceMs: number
  readonly #pods: PodAccounts
  /** Of what is held only while nothing is wrong, by the kind of what they find. */
  readonly #calm: Readonly<Record<string, PodAccounts | NodeAccounts | LifeAccounts | StatusAccounts>>
  readonly #gaps: GapAccounts

  constructor(scene: Scene) {
    this.#scene = scene
    this.#pods = new PodAccounts(scene)
    this.#calm = {
      account: this.#pods,
      'account of a node': new NodeAccounts(scene),
      'account of a lifecycle': new LifeAccounts(scene),
      'account of all': new StatusAccounts(scene),
    }
    this.#gaps = new GapAccounts(scene)
    this.#calmSinceMs = scene.nowMs
  }

  /** Returns what is said and is not so, and what is not said. */
  async look(): Promise<readonly Wrong[]> {
    const { nowMs } = this.#scene
    if (!this.#isCalm()) this.#calmSinceMs = nowMs
    this.#pods.lookAtRoom()
    if (nowMs - this.#lookedMs < everyMs) return []
    this.#lookedMs = nowMs
    const gaps = (await this.#gaps.look()).map((what) => ({ kind: 'gap', what }))
    if (nowMs - this.#calmSinceMs < settledMs) {
      for (const accounts of Object.values(this.#calm)) accounts.forget()
      return gaps
    }
    const looks = Object.entries(this.#calm).map(async ([kind, accounts]) =>
      (await accounts.look()).map((what) => ({ kind, what })),
    )
    return [...gaps, ...(await Promise.all(looks)).flat()]
  }

  /** Whether Joiner sees what there is, and can do something about it. */
  #isCalm(): boolean {
    const { fast, api } = this.#scene
    const isTrouble = fast.temporal.isAway || api.isTroubled || fast.cluster.watching.lagMs > 0
    const processes = [...fast.joiners.values()]
    return (
      !isTrouble &&
      processes.length > 0 &&
      processes.every(({ process }) => process.skewMs === 0) &&
      this.#scene.isCalmFor(settledMs)
    )
  }
}
