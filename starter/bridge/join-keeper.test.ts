import { expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../test/fakes/deps.ts'
import { claimJson, condition, nodeJson } from '../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { JoinKeeper } from './join-keeper.ts'

useFakeTime()

const hourMs = 3_600_000

/** A Node that has joined, and Temporal, which ends a call without an answer at its deadline, by the clock of this machine. */
function joined({ offMs, answers }: { readonly offMs: number; readonly answers: boolean }) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claimJson('a', { status: { nodeName: undefined, conditions: [condition('Launched')] } }))
  cluster.put('nodes', nodeJson('a', { metadata: { ownerReferences: [] } }))
  const { deps } = kubernetesDeps(cluster)
  const steps: string[] = []
  const withDeadline = async <T>(deadline: number | Date, ask: () => Promise<T>): Promise<T> => {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error('DEADLINE_EXCEEDED')), Math.max(Number(deadline) - Date.now(), 0))
    })
    return Promise.race([late, ask()])
  }
  const answer = () => new Promise((resolve) => answers && setTimeout(resolve, 10))
  const end = new JoinKeeper({
    deps: { ...deps, now: () => Date.now() + offMs },
    connection: { withDeadline, workflowService: { getSystemInfo: answer } } as never,
    isLeader: () => true,
    onDone: (step) => void steps.push(step),
  }).start()
  return { steps, end }
}

test.each([
  ['right', 0],
  ['an hour behind', hourMs],
  ['an hour ahead', -hourMs],
])(
  'where the clock of the machine is %s, the bridge registers Nodes while Temporal is away, and only then',
  async (_, offMs) => {
    for (const answers of [true, false]) {
      const { steps, end } = joined({ offMs, answers })
      await pass(20_000)
      end()
      expect(steps.includes('registered')).toBe(!answers)
    }
  },
)
