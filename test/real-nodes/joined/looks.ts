import type { Operator } from '../../../deploy/local/operator.ts'
import { until } from '../../../deploy/local/real-nodes/until.ts'

type Conditions = readonly { readonly type: string; readonly status: string }[]

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly status: { readonly conditions?: Conditions }
}

interface NodeClaim {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string }
  readonly status?: { readonly nodeName?: string; readonly conditions?: Conditions }
}

/** Looks at what Joiner and kubelets have made. */
export class Looks {
  readonly #operator: Operator

  constructor(operator: Operator) {
    this.#operator = operator
  }

  /** A NodePool's NodeClaim, the newest of several. */
  async claim(pool: string): Promise<NodeClaim | undefined> {
    const path = `/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool%3D${pool}`
    const { items } = await this.#operator.api<{ readonly items: readonly NodeClaim[] }>('GET', path)
    return items
      .toSorted((one, other) => one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp))
      .at(-1)
  }

  /** Waits until a condition of a NodePool's NodeClaim holds. Returns the name of its Node. Errors: it does not come to that. */
  async untilClaimIs(condition: string, pool: string): Promise<string> {
    let name: string | undefined
    await until(`the NodeClaim of ${pool} is ${condition}`, 120_000, async () => {
      const status = (await this.claim(pool))?.status
      name = isTrue(status?.conditions, condition) ? (status?.nodeName ?? '') : undefined
      return name !== undefined
    })
    return name ?? ''
  }

  /** Pods that are ready on a node. */
  async readyPods(node: string): Promise<readonly Pod[]> {
    const path = `/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3D${node}`
    const { items } = await this.#operator.api<{ readonly items: readonly Pod[] }>('GET', path)
    return items.filter(({ status }) => isTrue(status.conditions, 'Ready'))
  }

  async untilReady(count: number, node: string): Promise<void> {
    const isSo = async () => (await this.readyPods(node)).length === count
    await until(`${count} pods are ready on ${node}`, 90_000, isSo)
  }
}

export function isTrue(conditions: Conditions | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') === true
}
