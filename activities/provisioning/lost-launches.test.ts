import { expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { at, claimJson, condition, podJson } from '../../test/fakes/objects.ts'
import { planningDeps } from '../../test/fakes/planning.ts'
import { reportLostLaunches } from './lost-launches.ts'

const launching = (reason: string) =>
  claimJson('a', { status: { conditions: [{ ...condition('Launched', 'Unknown', 0, reason), message: 'no room' }] } })
const pending = (name: string, change: object = {}) =>
  podJson(name, 'a', { spec: { nodeName: undefined }, status: { phase: 'Pending' }, ...change })

async function world() {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', launching('Launching'))
  cluster.put('pods', pending('web'))
  cluster.put('pods', pending('other'))
  cluster.put('pods', pending('going', { metadata: { uid: 'uid-going', deletionTimestamp: at(1) } }))
  cluster.put('pods', podJson('bound', 'a'))
  const { deps, reported } = await planningDeps(cluster)
  for (const uid of ['uid-web', 'uid-going', 'uid-bound', 'uid-gone']) deps.nominations.nominate(uid, 'a', deps.now())
  deps.nominations.nominate('uid-other', 'b', deps.now())
  return { cluster, reported, end: reportLostLaunches(deps) }
}

test('upstream 1.15: a launch without capacity is a Warning on each pod that waits for the claim, and on no other', async () => {
  const { cluster, reported, end } = await world()
  cluster.put('nodeclaims', launching('InsufficientCapacityError'))
  expect(reported).toEqual([])
  cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(1) } })
  cluster.remove('nodeclaims', 'a')
  expect(reported).toEqual([
    {
      reason: 'InsufficientCapacityError',
      about: 'Pod/web',
      message: 'NodeClaim a nominated for this pod failed to launch: no room',
    },
  ])
  end()
})

test('a claim that goes for another reason is no news to its pods', async () => {
  const { cluster, reported, end } = await world()
  cluster.remove('nodeclaims', 'a')
  expect(reported).toEqual([])
  end()
})
