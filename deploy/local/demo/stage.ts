import color from 'picocolors'
import type { JournalEntry } from '../azure/server/arm-deps.ts'
import { underLoad } from '../machine-load.ts'
import type { Operator } from '../operator.ts'

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly status: { readonly phase: string }
  }[]
}

export interface NamedList {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

export interface SimulatorState {
  readonly virtualMachines: readonly unknown[]
  readonly networkInterfaces: readonly unknown[]
  readonly disks: readonly unknown[]
}

/** What the demo's acts share: the cluster as an operator sees it, and what is said of it. */
export class Stage {
  readonly operator: Operator
  /** Names of everything that was there at some time. */
  readonly seen = { nodeClaims: new Set<string>(), nodes: new Set<string>() }
  readonly #startedAt: number

  /** `startedAt`: epoch ms that times are counted from. */
  constructor(operator: Operator, startedAt: number) {
    this.operator = operator
    this.#startedAt = startedAt
  }

  say(text: string): void {
    console.log(`${color.dim(`${((Date.now() - this.#startedAt) / 1000).toFixed(1).padStart(6)} s`)}  ${text}`)
  }

  async scale(replicas: number): Promise<void> {
    await this.operator.kubectl(['scale', 'deployment/inflate', `--replicas=${replicas}`])
    this.say(`scaled inflate to ${replicas}`)
  }

  async running(): Promise<number> {
    const list = await this.operator.api<PodList>('GET', '/api/v1/namespaces/default/pods?labelSelector=app%3Dinflate')
    return list.items.filter(({ status }) => status.phase === 'Running').length
  }

  async names(kind: 'nodeClaims' | 'nodes'): Promise<readonly string[]> {
    const path = kind === 'nodes' ? '/api/v1/nodes' : '/apis/karpenter.sh/v1/nodeclaims'
    const names = (await this.operator.api<NamedList>('GET', path)).items.map(({ metadata }) => metadata.name)
    for (const name of names) this.seen[kind].add(name)
    return names
  }

  async reportNodes(): Promise<void> {
    const table = await this.operator.kubectl(['get', 'nodeclaims'])
    await this.names('nodes')
    await this.names('nodeClaims')
    for (const line of table.trimEnd().split('\n')) console.log(`          ${color.dim(line)}`)
  }

  journal(): Promise<readonly JournalEntry[]> {
    return this.operator.simulator('GET', '/journal')
  }

  state(): Promise<SimulatorState> {
    return this.operator.simulator('GET', '/state')
  }

  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const startedAt = Date.now()
    let problem = ''
    // A server that answers an error while it starts is asked again.
    const holds = async () => {
      try {
        // What lives only for a moment is counted too.
        await this.names('nodeClaims')
        await this.names('nodes')
        return await isSo()
      } catch (error) {
        problem = `; last answer: ${String(error)}`
        return false
      }
    }
    while (!(await holds())) {
      if (Date.now() > startedAt + underLoad(120_000))
        throw new Error(`not within 2 minutes on a quiet machine: ${what}${problem}`)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    this.say(color.green(what))
  }
}
