import { shortened } from '../../values/texts.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import type { UnschedulableCause } from '../unschedulable.ts'
import { unschedulableText } from '../unschedulable-text.ts'
import { PodAdvice, type PoolAdvice } from './advice.ts'
import { causeAdvice } from './cause-advice.ts'
import type { FinishedPass } from './finished-pass.ts'
import { funnelTexts, missText, PodFunnels, type PoolFunnel } from './funnel.ts'
import { NearestMisses } from './nearest-miss.ts'

/** Why pods without a place have none, in the words of `WaitingClass`. */
export interface Explanation extends Pick<PoolAdvice, 'cause' | 'remedies' | 'missing' | 'wantedPools'> {
  /** The NodePool that comes nearest. */
  readonly nodePool?: string
  readonly finding: string
  readonly funnel: readonly string[]
}

/** Limits on texts, which contain names and values that tenants choose. */
const mostText = 400
const mostPools = 8
const mostRemedies = 4

/** Returns what is known without a pass. */
export function explanationOf(cause: UnschedulableCause): Explanation {
  const { cause: own = 'requirements', remedies = [] } = causeAdvice(cause) ?? {}
  return bounded({ cause: own, finding: unschedulableText(cause), funnel: [], remedies, missing: [], wantedPools: [] })
}

/** Explains pods of a finished pass. */
export class PassExplanations {
  readonly #funnels: PodFunnels
  readonly #advice: PodAdvice

  constructor(pass: FinishedPass) {
    const misses = new NearestMisses(pass)
    this.#funnels = new PodFunnels(pass, misses)
    this.#advice = new PodAdvice(pass, misses)
  }

  of(one: Waiting, cause: UnschedulableCause): Explanation {
    const funnels = this.#funnels.of(one)
    if (causeAdvice(cause) !== undefined || funnels.length === 0) return explanationOf(cause)
    const advice = this.#advice.of(one)
    const [nearest, ...others] = advice
    if (nearest === undefined) return explanationOf(cause)
    const byName = new Map(funnels.map((funnel) => [funnel.nodePool, funnel]))
    // Who asks for a NodePool by name need not hear of the others.
    const shown = advice.filter(({ isAskedFor }) => isAskedFor).flatMap(({ nodePool }) => byName.get(nodePool) ?? [])
    return bounded({
      cause: nearest.cause,
      nodePool: nearest.nodePool,
      finding: findingOf(nearest, byName.get(nearest.nodePool), cause),
      funnel: shown.map((one) => funnelTexts(one).join('; ')),
      remedies: [
        ...nearest.remedies,
        ...others.flatMap(({ remedies, isAskedFor }) => (isAskedFor ? remedies.slice(0, 1) : [])),
      ],
      missing: nearest.missing,
      wantedPools: nearest.wantedPools,
    })
  }
}

function findingOf(
  { cause: own, nodePool }: PoolAdvice,
  funnel: PoolFunnel | undefined,
  cause: UnschedulableCause,
): string {
  if (own === 'node-pools') return 'no NodePool that the pods ask for can have new nodes'
  return `NodePool "${nodePool}": ${funnel === undefined ? unschedulableText(cause) : missText(funnel)}`
}

function bounded({ finding, funnel, remedies, ...rest }: Explanation): Explanation {
  const more = funnel.length - mostPools
  return {
    ...rest,
    finding: shortened(finding, mostText),
    funnel: [
      ...funnel.slice(0, mostPools).map((line) => shortened(line, mostText)),
      ...(more > 0 ? [`and ${more} more NodePools`] : []),
    ],
    remedies: [...new Set(remedies)].slice(0, mostRemedies).map((line) => shortened(line, mostText)),
  }
}
