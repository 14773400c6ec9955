import { withheldRemedy, withheldText } from '../../../api/withheld-machines.ts'
import { readWithheld } from '../../view/withheld.ts'
import { counted } from '../simulate/words.ts'
import { type Check, ok, warn } from './check.ts'
import type { DoctorContext } from './context.ts'

/** Machines that are named one by one. */
const mostNamed = 20

/** Whether machines run pods without a NodeClaim, as the last pass of garbage collection found. */
export function lostClaimsCheck({ config, kubernetes }: DoctorContext): Check {
  return {
    name: 'lost nodeclaims',
    remedy: `look at what Joiner stored: kubectl get configmaps --namespace ${config.JOINER_NAMESPACE}`,
    run: async () => {
      const { atMs, count, costPerDay, machines } = await readWithheld(kubernetes, config.JOINER_NAMESPACE)
      if (count === 0) return ok('no machine is known to run pods without a NodeClaim')
      return warn(
        `${counted(count, 'machine')} without a NodeClaim kept since pods run there, ${costPerDay.toFixed(2)} USD a day (found at ${new Date(atMs ?? 0).toISOString()})`,
        [`to have one deleted, drain its Node: ${withheldRemedy('NODE')}`],
        machines.slice(0, mostNamed).map(withheldText),
      )
    },
  }
}
