import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { provision } from '../../../deploy/local/azure/boot/provision.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'

/** For how long a VM that cannot join may be there: whoever made it is told at its next PUT. */
const mostMs = 120_000
/** After a restore of etcd tokens are gone that VMs hold; such a VM goes when its registration takes too long. */
const afterRestoreMs = 20 * 60_000

/** How long a process waits for the answer to a PUT of a VM. */
const patienceMs = 30_000

/** Whose Nodes would have been refused: in virtual time nobody asks a kubelet for its bootstrap token. */
export class Joins {
  readonly #scene: Scene
  readonly #refused = new Map<string, number>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** A kubelet has made its Node. */
  made(node: Json): void {
    const { name } = metaOf(node)
    const { fast, nowMs, etcd } = this.#scene
    const machine = fast.azure.deps.machines.get(name)
    if (machine === undefined || nowMs - etcd.restoredMs < afterRestoreMs) return
    const { identity } = provision(machine.body.properties.osProfile?.customData ?? '').kubelet ?? {}
    if (identity?.kind === 'token' && !this.#isInForce(identity.token)) this.#refused.set(name, nowMs)
  }

  /** Returns the VMs of NodeClaims that stay though they could not join. `claims`: names of NodeClaims that are not being deleted. */
  look(names: ReadonlySet<string>, claims: ReadonlySet<string>): readonly string[] {
    for (const name of this.#refused.keys()) if (!names.has(name)) this.#refused.delete(name)
    const over = this.#scene.nowMs - mostMs
    return [...this.#refused].flatMap(([name, sinceMs]) =>
      sinceMs < over && this.#wasTold(name) && claims.has(name.replace('aks-', '')) ? [name] : [],
    )
  }

  /** Whether whoever made a VM with another token heard that it was there already. Where Azure is too slow for that nobody knows (docs/security.md). */
  #wasTold(name: string): boolean {
    return this.#scene.fast.azure.deps.journal.some(
      ({ method, atMs, answer, ...entry }) =>
        entry.name === name && method === 'PUT' && answer?.status === 412 && answer.atMs - atMs < patienceMs,
    )
  }

  #isInForce(token: string): boolean {
    const [id = '', secret = ''] = token.split('.')
    const path = `/api/v1/namespaces/kube-system/secrets/bootstrap-token-${id}`
    const { stringData } = (this.#scene.fast.cluster.server.objects.find(path) ?? {}) as {
      readonly stringData?: Readonly<Record<string, string>>
    }
    return stringData?.['token-secret'] === secret
  }
}
