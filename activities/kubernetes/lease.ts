import { isConflict, isNotFound, type KubernetesClient } from './client.ts'
import { resourcePath } from './resources.ts'

interface LeaseObject {
  readonly metadata: { readonly resourceVersion: string }
  readonly spec?: {
    readonly holderIdentity?: string
    readonly renewTime?: string
    readonly leaseDurationSeconds?: number
    readonly leaseTransitions?: number
  }
}

interface LeaseDeps {
  readonly client: KubernetesClient
  readonly namespace: string
}

/** A coordination.k8s.io Lease, held by name: who bridges, and which planning attempt may write. */
export class Lease {
  readonly #deps: LeaseDeps
  readonly #name: string
  readonly #identity: string
  readonly #durationSeconds: number

  constructor(
    deps: LeaseDeps,
    options: { readonly name: string; readonly identity: string; readonly durationSeconds: number },
  ) {
    this.#deps = deps
    this.#name = options.name
    this.#identity = options.identity
    this.#durationSeconds = options.durationSeconds
  }

  /** Takes the lease from whoever holds it: for a caller that knows itself to be the only rightful holder. */
  async seize(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const lease = await this.#read()
      if (await this.#write(lease)) return
      if (attempt >= 5)
        throw new Error(
          `Lease ${this.#deps.namespace}/${this.#name}: lost ${attempt} races for it; another attempt keeps taking it`,
        )
    }
  }

  /** Takes or renews the lease unless somebody else holds it and has not let it run out. Returns whether it is held. */
  async tryHold(): Promise<boolean> {
    const lease = await this.#read()
    const spec = lease?.spec
    const heldByOther =
      spec?.holderIdentity !== undefined && spec.holderIdentity !== '' && spec.holderIdentity !== this.#identity
    if (heldByOther && Date.parse(spec.renewTime ?? '') + (spec.leaseDurationSeconds ?? 0) * 1000 > Date.now())
      return false
    return this.#write(lease)
  }

  /** Whether the lease still names this holder, read from the API server. */
  async isHeld(): Promise<boolean> {
    return (await this.#read())?.spec?.holderIdentity === this.#identity
  }

  /** Gives the lease up, so that the next holder need not wait for it to run out. */
  async release(): Promise<void> {
    const lease = await this.#read()
    if (lease?.spec?.holderIdentity === this.#identity) await this.#write(lease, '')
  }

  async #read(): Promise<LeaseObject | undefined> {
    try {
      return (await this.#deps.client.get(
        resourcePath('leases', this.#name, this.#deps.namespace),
      )) as unknown as LeaseObject
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async #write(previous: LeaseObject | undefined, holderIdentity = this.#identity): Promise<boolean> {
    const changed = previous?.spec?.holderIdentity !== holderIdentity
    const spec = {
      holderIdentity,
      leaseDurationSeconds: this.#durationSeconds,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
      leaseTransitions: (previous?.spec?.leaseTransitions ?? 0) + (changed ? 1 : 0),
    }
    const { client, namespace } = this.#deps
    try {
      if (previous === undefined) {
        await client.create(resourcePath('leases', undefined, namespace), {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: this.#name, namespace },
          spec,
        })
      } else {
        await client.mergePatch(resourcePath('leases', this.#name, namespace), {
          metadata: { resourceVersion: previous.metadata.resourceVersion },
          spec,
        })
      }
      return true
    } catch (error) {
      if (isConflict(error)) return false
      throw error
    }
  }
}
