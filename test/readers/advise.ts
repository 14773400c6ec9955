// `joiner advise` as somebody runs it who may read little. What it promises is held to real passes by `test/advise.all.test.ts`.
import { expect, test } from 'vitest'
import type { ClusterView } from '../../starter/picture/watch/cluster-view.ts'
import { Onlooker } from '../advise/onlooker.ts'
import { auditedRequests } from '../audit-log.ts'
import type { Prepared } from './prepared.ts'

export function adviseCases(prepared: () => Prepared): void {
  test('few rights and no login at Azure leave out parts of the report, which it names, and only lists are asked for', async () => {
    const { world } = prepared()
    const { totals } = await prepared().json<ClusterView>('top', '--once')
    const rules = [{ apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['list'] }]
    const stranger = await Onlooker.arrive(world, 'stranger', rules)
    await stranger.logOut()
    try {
      const advice = await stranger.advice()
      expect(advice.bill.perHour).toBeCloseTo(totals.pricePerHour, 6)
      expect(advice.unread.join('\n')).toMatch(/poddisruptionbudgets: no right to read it/)
      expect(advice.unread.join('\n')).toMatch(/Azure was not asked: .*az login/)
      expect(advice.remarks.join('\n')).toMatch(/new nodes are only of sizes that the cluster has already/)
      const asked = await world.until('its requests are recorded', async () => {
        const some = (await auditedRequests(world.cluster.stateDir)).filter(({ actor }) => actor.includes('stranger'))
        return some.length > 5 && some
      })
      expect(asked.filter(({ what }) => !/^(get|list) /.test(what))).toEqual([])
    } finally {
      await stranger.leave()
    }
  })
}
