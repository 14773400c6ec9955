// `joiner admin uninstall` as an administrator runs it, and what is left of Joiner.
import { onQueueOf } from '../../core/workflow-queries.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import type { World } from '../world.ts'
import { type Environment, type Ran, runHere } from './command-line.ts'
import type { Prepared } from './prepared.ts'

export class Uninstalling {
  readonly words = ['admin', 'uninstall', '--cluster-name', clusterName] as const
  readonly #prepared: () => Prepared

  constructor(prepared: () => Prepared) {
    this.#prepared = prepared
  }

  get #world(): World {
    return this.#prepared().world
  }

  get environment(): Environment {
    return { ...this.#world.cluster.temporalEnv, ...this.#prepared().admin }
  }

  run(...args: readonly string[]): Promise<Ran> {
    return runHere(this.environment, ...this.words, ...args)
  }

  async openWorkflows(): Promise<readonly string[]> {
    const found: string[] = []
    const query = `ExecutionStatus = 'Running' AND ${onQueueOf(clusterName)}`
    for await (const { workflowId } of this.#world.temporal.workflow.list({ query })) found.push(workflowId)
    return found
  }

  async schedules(): Promise<readonly string[]> {
    const found: string[] = []
    for await (const { scheduleId } of this.#world.temporal.schedule.list()) found.push(scheduleId)
    return found
  }

  /** The strategy of conversion and the served versions of the CRDs that Joiner converts. */
  conversions(): Promise<readonly string[]> {
    const names = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh']
    const columns =
      '-o=jsonpath={.spec.conversion.strategy} {.spec.versions[?(@.served==true)].name} {.metadata.annotations.joiner\\.sh/installation}'
    const { operator } = this.#world
    return Promise.all(names.map(async (name) => (await operator.kubectl(['get', 'crd', name, columns])).trim()))
  }

  /** The leaders' Leases that a process holds: name, holder and the last renewal of each. */
  async terms(): Promise<readonly string[]> {
    const columns = '-o=jsonpath={range .items[*]}{.metadata.name} {.spec.holderIdentity} {.spec.renewTime}{"\\n"}{end}'
    const found = await this.#world.operator.kubectl(['get', 'leases', '-n', 'joiner', columns])
    return found.split('\n').filter((line) => /^joiner-(bridge|planner) \S+ \S+$/.test(line))
  }

  /** ConfigMaps and Leases that Joiner writes. */
  async ownObjects(): Promise<readonly string[]> {
    const names = await this.#world.operator.kubectl(['get', 'configmaps,leases', '-n', 'joiner', '-o', 'name'])
    return names.split('\n').filter((name) => name.includes('/joiner-'))
  }
}
