import type { Explanation } from '../../../core/scheduling/explain/explanation.ts'
import type { MissingOffering } from '../../../core/scheduling/explain/unsold.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Quota } from '../../azure/capacity/quota.ts'
import { shortageText } from '../../azure/capacity/quota-accounting.ts'
import type { AzureParts } from '../../azure/parts.ts'

export interface CapacityDeps extends Pick<AzureParts, 'catalogue' | 'unavailable'> {
  readonly quota: Pick<Quota, 'shortages'>
}

interface Lack {
  readonly kind: 'quota' | 'refused'
  readonly text: string
}

const mostNamed = 3

/** Returns the explanation with why offerings cannot be bought, where that is all that is missing. */
export function withMissingCapacity(deps: CapacityDeps, explanation: Explanation): Explanation {
  const { missing, nodePool = '' } = explanation
  if (missing.length === 0) return explanation
  const lacks = missing.flatMap((offering) => lackOf(deps, offering) ?? [])
  const texts = [...new Set(lacks.map(({ text }) => text))]
  const more = texts.length - mostNamed
  const named = [...texts.slice(0, mostNamed), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
  const isQuota = lacks.length > 0 && lacks.every(({ kind }) => kind === 'quota')
  const widen = `let NodePool "${nodePool}" allow more instance types, zones or capacity types in spec.template.spec.requirements`
  return {
    ...explanation,
    cause: isQuota ? 'quota' : 'capacity',
    finding: `NodePool "${nodePool}": no offering that would do can be bought now${named === '' ? '' : `: ${named}`}`,
    remedies: isQuota
      ? [
          'ask Azure for more quota: joiner blocked quota shows what is used, https://aka.ms/ProdportalCRP takes the request',
          widen,
        ]
      : [
          'wait until Joiner tries what Azure refused again, or let it try at once: joiner blocked capacity list, joiner blocked capacity clear --all',
          widen,
        ],
  }
}

function lackOf({ catalogue, unavailable, quota }: CapacityDeps, offering: MissingOffering): Lack | undefined {
  const { instanceType, capacityType, zone } = offering
  const size = catalogue.size(instanceType)
  if (size === undefined) return undefined
  const { family, vCpus } = size
  const mark = unavailable.markOf({ ...offering, family, vCpus })
  if (mark !== undefined) {
    const what = `${instanceType} ${capacityType}${zone === '' ? '' : ` in ${zone}`}`
    return { kind: 'refused', text: `Azure refused ${what} (${mark.reason}), left out until ${timeText(mark.untilMs)}` }
  }
  const type = capacityType === 'spot' ? 'spot' : 'on-demand'
  const [shortage] = quota.shortages({ family, vCpus, capacityType: type })
  if (shortage === undefined) return undefined
  const [text = ''] = shortageText(shortage).split('; ask for more')
  return { kind: 'quota', text }
}
