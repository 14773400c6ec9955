import type { Cloud } from '../../deploy/local/cluster.ts'
import { circumstances } from '../report.ts'
import { joiner } from './contender.ts'
import { Karpenter } from './karpenter.ts'
import { measure } from './measure.ts'
import { comparedTable, type Measured, measuredTable } from './measured.ts'

interface Asked {
  /** How many, for one run each. */
  readonly pods: readonly number[]
  /** Whether Karpenter runs too, before Joiner. */
  readonly peer: boolean
  /** Clouds in which Joiner runs, one after the other. */
  readonly clouds: readonly Cloud[]
}

/** Measures each size on clusters of its own, so that peaks belong to their size. Without a peer there is one table for all sizes, else one for each. */
export async function scaleUp({ pods, peer, clouds }: Asked): Promise<void> {
  const title = (what: string) => `### ${what}, ${circumstances()}\n`
  const results: Measured[] = []
  for (const size of pods) {
    const compared = peer ? await said(size, 'Karpenter', () => Karpenter.start()) : undefined
    const ours: Measured[] = []
    for (const cloud of clouds) ours.push(await said(size, `Joiner, ${cloud} cloud`, () => joiner(cloud)))
    results.push(...ours)
    if (compared !== undefined)
      console.log(`${title(`Scale up and down beside Karpenter, ${size} pods`)}\n${comparedTable(compared, ours)}\n`)
  }
  if (!peer) console.log(`${title('Scale up and down')}\n${measuredTable(results)}\n`)
}

function said(pods: number, who: string, start: Parameters<typeof measure>[0]): Promise<Measured> {
  console.error(`${pods} pods, ${who} ...`)
  return measure(start, pods)
}
