/** How often each operation was called since the start or the last clearing, and by which requests each VM was touched. */
export class CallCounts {
  readonly #byOperation = new Map<string, number>()
  readonly #byVm = new Map<string, Map<string, number>>()
  readonly #byPrincipal = new Map<string, Map<string, number>>()

  /** `vm` is named by requests to one VM and what is below it, and absent for lists. */
  add(operation: string, vm: string | undefined): void {
    increase(this.#byOperation, operation)
    if (vm === undefined) return
    const name = vm.toLowerCase()
    const counts = this.#byVm.get(name) ?? new Map<string, number>()
    this.#byVm.set(name, counts)
    increase(counts, operation)
  }

  /** An action of ARM that somebody's request takes. */
  addAction(principal: string, action: string): void {
    const counts = this.#byPrincipal.get(principal) ?? new Map<string, number>()
    this.#byPrincipal.set(principal, counts)
    increase(counts, action)
  }

  get byOperation(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#byOperation)
  }

  get byVm(): Readonly<Record<string, Readonly<Record<string, number>>>> {
    return Object.fromEntries([...this.#byVm].map(([name, counts]) => [name, Object.fromEntries(counts)]))
  }

  /** Actions by the object id of who took them, refused ones included. */
  get actions(): Readonly<Record<string, Readonly<Record<string, number>>>> {
    return Object.fromEntries([...this.#byPrincipal].map(([id, counts]) => [id, Object.fromEntries(counts)]))
  }

  clear(): void {
    this.#byPrincipal.clear()
    this.#byOperation.clear()
    this.#byVm.clear()
  }
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
