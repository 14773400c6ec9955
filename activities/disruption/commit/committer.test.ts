import { beforeEach, describe, expect, test, vi } from 'vitest'
import { empty, marksOf, world } from '../../../test/fakes/commit-world.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { Fence } from '../../provisioning/fence.ts'
import { Committer } from './committer.ts'

useFakeTime()

const never = new AbortController().signal
let ids = 0
/** One empty node to be deleted. */
const going = (name: string, order: readonly [number, number], forced = false) =>
  empty([name], { id: `emptiness-0123456789-${String(ids++).padStart(8, '0')}`, order, forced })

beforeEach(() => {
  ids = 0
})

/** A process with nodes that may go. */
async function committing(names = ['a', 'b', 'c']) {
  const known = await world(names)
  known.plan.replacements = []
  const committer = new Committer()
  /** The nodes of each round, as they are validated first. */
  const rounds: string[][] = []
  const { evaluator } = known.deps
  const validateTogether = evaluator.validateTogether.bind(evaluator)
  evaluator.validateTogether = (request, proposals) => {
    const nodes = proposals.flatMap(({ candidates }) => candidates.map((uid) => uid.replace('uid-', '')))
    if (JSON.stringify(rounds.at(-1)) !== JSON.stringify(nodes)) rounds.push(nodes)
    return validateTogether(request, proposals)
  }
  const lead = async (name = '1') => {
    const fence = await Fence.take(known.deps, 'joiner-disruption-fence', name)
    committer.lead({ deps: known.deps, fence, signal: never })
  }
  return { ...known, committer, rounds, lead, marks: () => marksOf(known.cluster, names) }
}

describe('proposals', () => {
  test('that are due together are committed in one round, in their order, whichever workflow came first', async () => {
    const { committer, rounds, lead, marks } = await committing()
    await lead()
    const commits = [
      committer.commit(going('c', [2000, 0]), true, never),
      committer.commit(going('b', [1000, 1]), true, never),
      committer.commit(going('a', [1000, 0]), true, never),
    ]
    expect(await ended(Promise.all(commits))).toMatchObject(commits.map(() => ({ kind: 'committed' })))
    expect(rounds).toEqual([['a', 'b', 'c']])
    expect(Object.values(marks()).every((mark) => mark.startsWith('taint Empty emptiness-'))).toBe(true)
  })

  test('that an operator asked for have a round of their own: other rules hold for them', async () => {
    const { committer, rounds, lead } = await committing()
    await lead()
    const commits = [
      committer.commit(going('a', [1000, 0]), true, never),
      committer.commit(going('b', [2000, 0], true), true, never),
      committer.commit(going('c', [3000, 0]), true, never),
    ]
    await ended(Promise.all(commits))
    expect(rounds).toEqual([['a', 'c'], ['b']])
  })

  test('of more than ten workflows take several rounds, one after the other', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `n${at}`)
    const { committer, rounds, lead } = await committing(names)
    await lead()
    await ended(Promise.all(names.map((name, at) => committer.commit(going(name, [1000, at]), true, never))))
    expect(rounds).toEqual([names.slice(0, 10), names.slice(10)])
  })

  test('wait until this process plans, and leave the queue when their workflow gives up', async () => {
    const { committer, lead, marks } = await committing()
    const stop = new AbortController()
    const [kept, left] = [
      committer.commit(going('a', [1000, 0]), true, never),
      committer.commit(going('b', [1000, 1]), true, stop.signal),
    ]
    await pass(1000)
    expect(Object.values(marks())).toEqual(['free', 'free', 'free'])
    stop.abort()
    await expect(left).rejects.toThrow('called off')
    await lead()
    expect(await ended(kept)).toMatchObject({ kind: 'committed' })
    expect(marks()).toMatchObject({ b: 'free', c: 'free' })
  })
})

describe('an evaluation', () => {
  test('is overtaken by a commit, and goes on when none waits', async () => {
    const { committer, lead } = await committing()
    await lead()
    const evaluating = committer.untilOvertaken(never)
    expect(evaluating.aborted).toBe(false)
    const commit = committer.commit(going('a', [1000, 0]), true, never)
    expect(evaluating.aborted).toBe(true)
    await ended(Promise.all([commit, committer.idle()]))
    expect(committer.untilOvertaken(never).aborted).toBe(false)
  })

  test('that writes is waited for: nothing is committed beside it', async () => {
    const { committer, lead, marks } = await committing()
    await lead()
    const writes = Promise.withResolvers<void>()
    const writing = committer.exclusively(() => writes.promise)
    const commit = committer.commit(going('a', [1000, 0]), true, never)
    await pass(5000)
    expect(marks()).toMatchObject({ a: 'free' })
    writes.resolve()
    await writing
    expect(await ended(commit)).toMatchObject({ kind: 'committed' })
  })
})

describe('a process', () => {
  test('that another has taken the fence from commits no more, until it leads again', async () => {
    const { committer, cluster, lead, marks } = await committing()
    await lead()
    cluster.edit('leases', 'joiner-disruption-fence', { spec: { holderIdentity: 'successor' } }, 'joiner')
    vi.setSystemTime(Date.now() + 10_000)
    const commit = committer.commit(going('a', [1000, 0]), true, never)
    await expect(ended(commit)).rejects.toThrow('names another planning attempt')
    expect(committer.isLeading).toBe(false)
    expect(marks()).toMatchObject({ a: 'free' })
    await lead('2')
    expect(await ended(committer.commit(going('a', [1000, 0]), true, never))).toMatchObject({ kind: 'committed' })
  })

  test('that cannot undo what a dead one has begun commits the others of the round', async () => {
    const { committer, cluster, lead, marks } = await committing()
    await lead()
    cluster.edit('nodes', 'aks-a', { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } })
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodes/aks-a')) throw new Error('a webhook refuses')
    })
    const [broken, other] = [
      committer.commit(going('a', [1000, 0]), false, never),
      committer.commit(going('b', [1000, 1]), true, never),
    ]
    await expect(ended(broken)).rejects.toThrow('a webhook refuses')
    expect(await ended(other)).toMatchObject({ kind: 'committed' })
    expect(marks().b).toMatch(/^taint Empty /)
  })

  test('whose round has failed reads what it may have written before the next', async () => {
    const { committer, cluster, deps, lead } = await committing()
    await lead()
    const read = vi.spyOn(deps.cache, 'catchUp')
    const end = cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.includes('/nodes/')) return
      end()
      throw new Error('etcd is away')
    })
    const first = going('a', [1000, 0])
    await expect(ended(committer.commit(first, true, never))).rejects.toThrow('etcd is away')
    expect(read).not.toHaveBeenCalled()
    expect(await ended(committer.commit(first, false, never))).toMatchObject({ kind: 'rejected' })
    expect(read).toHaveBeenCalledTimes(1)
  })
})
